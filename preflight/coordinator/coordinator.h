// Runs a preflight through its agents: connects to them, tests every pair in rounds, tests suspect
// paths again, loads all paths at once, and collects the measurements for the judgement. Each step
// has a time limit, for any behaviour of agents. A host that disconnects is left out from then on,
// and its measurements are kept. One thread; the agents are the caller's.
//
//   arrival ─► doctor, names ─► quiet rounds ─► bulk rounds ─► suspects, alone ─► cuts ─► RDMA
//                               latency, loss,  there, then                            ─►
//                               collective path            back
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/control/message.h"
#include "base/sys/clock.h"
#include "preflight/agents/agents.h"
#include "preflight/coordinator/schedule.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight::coordinator {

struct HostWanted {
  std::string name = {};  // as it was given
  std::uint16_t port = control::kPort;
  std::string user = {};  // who logs in there to start an agent; empty: ssh's default
};

struct Wanted {
  std::vector<HostWanted> hosts = {};
  Effort effort = {};
  std::uint64_t seed = 0;
  std::chrono::milliseconds limit{0};         // of the whole; 0: none
  std::chrono::milliseconds arrival{30'000};  // who has not come until then does not count
  std::string program = {};
};

// The judgement is asked what to look at more closely; without it nothing is tested again, and the
// hosts are cut into halves.
struct Advisers {
  // Ways, each from the first to the second.
  std::function<std::vector<Pair>(const Measured&)> suspects = {};
  std::function<std::vector<Cut>(const Measured&)> cuts = {};
  // Ways whose two ends may be joined by parallel links of which one is bad; asked after the tests
  // alone.
  std::function<std::vector<Pair>(const Measured&)> bundles = {};
};

struct Progress {
  double share = 0;  // of the whole, by the time that it should take
  std::string doing = {};
  std::chrono::milliseconds left{0};
};

using OnProgress = std::function<void(const Progress&)>;

struct CoordinatorResult {
  Measured measured = {};
  std::optional<Error> broken = {};  // the agents' connections failed altogether; what was measured
                                     // until then is there
};

// `measured.was_interrupted` where the agents reported it.
CoordinatorResult run_preflight(Agents& agents, const Wanted& wanted, const Advisers& advisers,
                                const sys::Clock& clock, const OnProgress& report_progress);

}  // namespace chokepoint::preflight::coordinator
