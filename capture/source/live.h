// Live interfaces as a Source. One interface is read by whoever calls read(); of several, each has
// a thread of its own, and frames are merged by time.
//
//   one       ring ─▶ read()
//   several   ring ─▶ thread ─(bounded queue)─▶ merge ─▶ read()
//
// Threads start with the first read(), so that rights given up after open_live() are given up for
// all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/source/source.h"
#include "capture/source/stamps.h"

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
  // read() gives what came until now, then End, within 100 ms. Any thread; signal handlers, too.
  virtual void stop() = 0;
  // Another kernel filter from now on: see Tap::narrow(). Any thread, while read() goes on.
  virtual Result<> narrow(const std::string& filter) = 0;
};

Result<std::unique_ptr<LiveSource>> open_live(const LiveOptions& options);

}  // namespace chokepoint::capture::source
