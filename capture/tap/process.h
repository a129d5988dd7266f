// The job's packets on one interface. They are parsed by a process without any privileges
// (chokepoint-capture tap: see capture/tap/messages.h); this is the watch's end of it, which
// decides which flows are the job's and writes the rows that come back. All public functions are
// called by one thread; listeners and rows come on a thread of the tap's own.
//
//   open() ─▶ begin() ─▶ narrow()… ─▶ end()
//                └─ the interface or that process goes away: is_over()
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/record/samples.h"
#include "base/record/writer.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/observer/flow_timing.h"
#include "capture/packet/packet.h"
#include "capture/socket/flow_registry.h"
#include "capture/tap/job_flows.h"

namespace chokepoint::capture::tap {

// Times are monotonic.
struct TapListeners {
  std::function<void(const std::vector<observer::TrafficBin>& bins)> on_traffic = {};
  // As one end of a connection saw it: that of the row's flow, 0: a, 1: b; of this process, by
  // record::Process::id, if that is known.
  std::function<void(const record::Collective& row, std::int64_t end,
                     std::optional<std::int64_t> process)>
      on_collective = {};
};

struct TapOptions {
  std::string program = {};  // chokepoint-capture; empty: the one beside this program
  std::string interface = {};
  std::uint64_t network = 0;  // as in FlowRegistry: 0 for the program's own namespace
  std::string netns = {};     // a path, if it is another namespace
  std::string filter = {};
  std::uint64_t ring_bytes = 0;
  std::vector<packet::Address> own_addresses = {};
  // Captured interfaces below and above this one. If both see the same packet, it counts at the
  // interface that has the connection's address.
  std::vector<std::string> rivals = {};
  sys::Root root = {};
};

class TapProcess {
 public:
  // The interface is captured from here on; what comes before begin() waits in the ring. Registry,
  // writer and listeners outlive it.
  static Result<std::unique_ptr<TapProcess>> open(const TapOptions& options,
                                                  socket::FlowRegistry& registry,
                                                  record::Writer& writer,
                                                  const TapListeners& listeners);
  ~TapProcess();  // end()
  TapProcess(const TapProcess&) = delete;
  TapProcess& operator=(const TapProcess&) = delete;

  void begin();
  void narrow(const std::string& filter);
  bool is_over() const;
  // What was captured before is still analysed and recorded. An error if the interface went away.
  Result<> end();

  const std::string& interface() const;
  VolumeCounts volume() const;
  std::uint64_t dropped() const;

 private:
  class Core;
  explicit TapProcess(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace chokepoint::capture::tap
