// Where frames come from: files, a pipe, live interfaces. A source fills batches; a batch owns the
// bytes its frames point to, so it can be handed to another thread and refilled when that one is
// done with it. read() is called by one thread; one virtual call a batch, none a packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/sys/error.h"
#include "capture/packet/frame.h"

namespace chokepoint::capture::source {

struct Interface {
  std::string name = {};  // "eth0"; of a file without names, the file's
  packet::LinkType link_type = packet::LinkType::Ethernet;
  std::uint32_t snapshot_bytes = 0;
  std::uint32_t mtu = 0;  // 0: not known
};

// Frames that somebody lost before they got here, told where in time it was noticed.
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
  More,  // the batch may be empty: nothing came for a while (live: at most 100 ms)
  End,   // the last batch: the end of the files, or stop() was called
};

class Source {
 public:
  virtual ~Source() = default;

  // Empties the batch and fills it. An error comes after all frames before it were handed out.
  virtual Result<Progress> read(Batch& batch) = 0;

  // Grows while a pcapng is read; indexes stay. Read it on the thread that calls read().
  virtual const std::vector<Interface>& interfaces() const = 0;

  // What a person should know at the end: "a.pcap ends inside a packet, after 1234 packets".
  virtual std::vector<std::string> remarks() const { return {}; }
};

}  // namespace chokepoint::capture::source
