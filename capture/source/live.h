// Live interfaces as a Source. One interface is read by the thread that calls read(); several have
// a thread each, and their frames are merged by time.
//
//   one       ring ─▶ read()
//   several   ring ─▶ thread ─(bounded queue)─▶ merge ─▶ read()
//
// Threads start with the first read(), so that privileges given up after open_live() are given up
// for all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/source/source.h"
#include "capture/source/tap.h"

namespace chokepoint::capture::source {

struct LiveOptions {
  std::vector<std::string> interfaces = {};  // none or "any": all that are up
  std::uint32_t snapshot_bytes = 128;
  std::uint64_t ring_bytes = 0;  // of each interface; 0: by its speed
  std::string filter = {};       // an expression of pcap-filter; in the kernel
  std::string netns = {};        // a name of `ip netns`, or a path; empty: this process's
  bool promiscuous = false;
  TimeScale time_scale = TimeScale::Wall;
  sys::Root root = {};  // where facts of interfaces are read
};

class LiveSource : public Source {
 public:
  // read() returns what came until now, then End, within 100 ms. Any thread, and signal handlers.
  virtual void stop() = 0;
  // Changes the kernel filter: see Tap::narrow(). Any thread, while read() goes on.
  virtual Result<> narrow(const std::string& filter) = 0;
};

Result<std::unique_ptr<LiveSource>> open_live(const LiveOptions& options);

}  // namespace chokepoint::capture::source
