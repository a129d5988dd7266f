// Where frames come from: files, a pipe, live interfaces. A source fills batches. A batch owns the
// bytes that its frames point to, so it can be passed to another thread, and refilled once that
// thread is done with it. read() is called by one thread; one virtual call per batch, none per
// packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/sys/error.h"
#include "capture/packet/frame.h"

namespace chokepoint::capture::source {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

// Copying from the page cache and parsing is fastest while both stay in L2.
inline constexpr std::size_t kBatchBytes = std::size_t{256} << 10;
inline constexpr std::size_t kBatchFrames = 1024;
// No tap delivers a larger frame; a file that claims one is damaged.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{16} << 20;

struct Interface {
  std::string name = {};  // "eth0"; the file's name if the file has no names
  packet::LinkType link_type = packet::LinkType::Ethernet;
  std::uint32_t snapshot_bytes = 0;
  std::uint32_t mtu = 0;  // 0: not known
};

// Frames that were lost before they got here. time_ns is when it was noticed.
struct Drop {
  std::int64_t time_ns = 0;
  std::uint32_t interface = 0;
  std::uint64_t by_kernel = 0;     // the ring was full
  std::uint64_t by_interface = 0;  // the device or its driver
};

struct Batch {
  std::vector<packet::Frame> frames = {};  // ordered as they were captured
  std::vector<Drop> drops = {};
  std::vector<std::uint8_t> bytes = {};  // what the frames point into; never grown while they do

  void clear() {
    frames.clear();
    drops.clear();
  }
};

enum class Progress {
  More,  // the batch may be empty: nothing came (live: for at most 100 ms)
  End,   // the last batch: the end of the files, or stop() was called
};

class Source {
 public:
  virtual ~Source() = default;

  // Clears the batch and fills it. An error is returned after all frames before it.
  virtual Result<Progress> read(Batch& batch) = 0;

  // Grows while a pcapng is read; indexes stay. Call it on the thread that calls read().
  virtual const std::vector<Interface>& interfaces() const = 0;

  // What the user should know at the end: "a.pcap ends inside a packet, after 1234 packets".
  virtual std::vector<std::string> remarks() const { return {}; }
};

}  // namespace chokepoint::capture::source
