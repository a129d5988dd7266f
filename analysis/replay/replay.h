// A recorded run replayed with one thing changed: what its steps would take then.
//
//   const auto replay = Replay::of(input);
//   replay->step_ms({.path = {.rate_mbps = 2000}})     another link
//   replay->step_ms({.late_times = 0})                 no rank is late
//   replay->step_ms(parts, 0.5)                        a cause costs half
//
// The graph's moments are computed in order: each comes when all moments that it waits for have
// come, and unchanged parts take as long as recorded. A model gives the time of an exchange on
// another path; it is fitted to the times of the run's own exchanges (transfer_times.h). Values,
// which own all they need; any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/predict/job_profile.h"
#include "analysis/predict/wire.h"
#include "analysis/replay/critical_path.h"
#include "analysis/replay/graph.h"

namespace chokepoint::analysis {

// The path under the run.
struct MeasuredPath {
  PathProfile path = {};
  bool is_full = false;  // its link is what held the exchanges back; then rate_mbps is of payload
};

struct ReplayInput {
  const RunData& run;
  const Clocks& clocks;
  const StepLine& steps;
  const Phases& phases;
  MeasuredPath path = {};
};

// What is empty or 1 stays as it was.
struct ReplayChange {
  PathProfile path = {};
  Congestion congestion = Congestion::Cubic;
  double late_times = 1;  // of what late ranks come later than the others
  std::optional<double> bucket_bytes = {};
  std::optional<double> overlap = {};  // 0 to 1, as of Buckets
  // By rank, whose place it takes: rank 1 of {0, 2, 1, 3} is where rank 2 was.
  std::vector<std::int64_t> rank_order = {};
};

// Of one step's time, what shares some cause has.
struct CauseShares {
  double computing = 0;
  double transfer = 0;
  double late = 0;
};

class Replay {
 public:
  // nullopt where the record does not show who exchanged what when, or the unchanged run, replayed,
  // takes another time than it took.
  static std::optional<Replay> of(const ReplayInput& input);
  static std::optional<Replay> of(const GraphInput& input, const MeasuredPath& path);

  double step_ms() const { return step_ms_; }
  const MeasuredPath& path() const { return path_; }
  // nullopt where other buckets or overlap are wanted, and no gradients were recognised, or less
  // loss, and the record does not show what exchanges take without; or another order of ranks, of
  // which it does not show where each was, or that takes a group off the network or on it.
  std::optional<double> step_ms(const ReplayChange& change) const;
  // Where these shares of each settled step take `times` as long.
  double step_ms(const std::vector<CauseShares>& shares, double times) const;
  // Of the unchanged run; see critical_path.h.
  std::optional<CriticalPath> critical_path(const std::vector<std::string>& nodes) const {
    return critical_path_of({graph_, times_ns_, source_->steps}, nodes);
  }

 private:
  Replay() = default;
  // Of the settled steps together, but for the first one of each run of them.
  double length_ms(const RunGraph& graph,
                   const std::function<double(const Arc&, std::size_t step)>& ns_of) const;
  // Where the unchanged run's length by the same rules is this.
  double step_ms_of(double length_ms, double unchanged_ms) const;
  std::optional<RunGraph> graph_with(const Buckets& buckets) const;
  // By ring, how many times as many of its ranks share a host's link in that order.
  std::optional<std::vector<double>> loads_in(const std::vector<std::int64_t>& rank_order) const;

  // What the graph was made of, for others like it.
  struct Source {
    Exchanges exchanges = {};
    std::vector<Meeting> meetings = {};
    StepLine steps = {};
    Phases phases = {};
  };

  std::shared_ptr<const Source> source_ = {};
  RunGraph graph_;
  std::vector<double> times_ns_ = {};  // by moment, of the unchanged run
  MeasuredPath path_;
  double work_ms_ = 0;              // of the processors for exchanges, a step
  std::vector<bool> follows_ = {};  // by settled step: the one before it is settled, too
  double steps_ = 0;                // that length_ms() is the length of
  double step_ms_ = 0;              // as measured
  double length_ms_ = 0;
};

}  // namespace chokepoint::analysis
