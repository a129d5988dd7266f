// What turns the bytes of a capture file into frames, apart from where the bytes come from: pcap
// and pcapng. Fed by FileSource, a batch at a time, on the thread that reads the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "capture/source/source.h"

namespace chokepoint::capture::source {

struct Consumed {
  std::size_t bytes = 0;    // from the front; frames point into them
  std::size_t wanted = 0;   // what the next piece needs from there on; 0: the batch is full
  std::string broken = {};  // why nothing after them can be read; empty: it can
};

class Format {
 public:
  virtual ~Format() = default;
  // Adds the frames that lie whole in `bytes`, until kBatchFrames.
  virtual Consumed take(std::span<const std::uint8_t> bytes, Batch& batch) = 0;

  const std::vector<Interface>& interfaces() const { return interfaces_; }

 protected:
  std::vector<Interface> interfaces_;
};

inline constexpr std::size_t kFormatHeadBytes = 24;

struct Recognised {
  std::unique_ptr<Format> format;  // none: neither of the two
  std::size_t head_bytes = 0;      // of the file, understood by now
};

// By the first kFormatHeadBytes of a file of that name.
Recognised recognise(std::span<const std::uint8_t> head, const std::string& name);

}  // namespace chokepoint::capture::source
