// Controls all ranks during the measurement: sends each order, waits until every rank has carried
// it out, and keeps the results. The number of iterations of a size is decided while it is
// measured, for all ranks alike.
//
// Values and pure functions, but for conduct().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/host/settings.h"
#include "base/math/statistics.h"
#include "probe/collective/communicator.h"
#include "probe/collective/order.h"
#include "probe/collective/pattern.h"
#include "probe/collective/rendezvous/hub.h"

namespace chokepoint::probe::collective {

// What is to be measured.
struct Plan {
  Collective collective = Collective::AllReduce;
  ElementType type = ElementType::Float32;
  std::vector<std::uint64_t> bytes = {};  // ascending; each is rounded up
  int root = 0;
  std::optional<int> warm_up = {};     // nullopt: up to 5, by how long one takes
  std::optional<int> iterations = {};  // nullopt: by time
  std::chrono::nanoseconds time = std::chrono::seconds(1);  // of each size
  bool check = true;
};

struct SizeResult {
  Operation operation = {};
  // Of each iteration, of its slowest rank.
  std::vector<double> times_us = {};
  std::optional<std::vector<Wrong>> wrong = {};  // nullopt: not checked

  bool is_wrong() const { return wrong && !wrong->empty(); }
};

// Its rates are by the mean time, as in nccl-tests: bytes / time, and that times bus_factor().
documents::CollectiveSize document_of(const SizeResult& size);

struct Outcome {
  std::vector<JoiningRank> members = {};             // by rank
  std::vector<DataPath> data_paths = {};             // by rank; empty: not reached
  std::map<std::string, host::Settings> hosts = {};  // how each is set up, as far as it is known
  std::vector<SizeResult> sizes = {};
};

// What the ranks did and measured; not who started them, nor how it ended. The fit is over the
// sizes' median times.
documents::Collective document_of(const Plan& plan, const Outcome& outcome);

struct ConductorOptions {
  std::chrono::seconds timeout{60};
  Hub::StillWanted wanted = {};  // its error ends the job
  std::function<void(const SizeResult&)> on_size = {};
};

// Once all ranks are there. What was measured is in `outcome` even if this fails. The caller's
// thread.
Result<> conduct(Hub& hub, const Plan& plan, const ConductorOptions& options, Outcome& outcome);

}  // namespace chokepoint::probe::collective
