// From a job to what its step would take elsewhere: over another link, round trip, loss, window, or
// with another number of ranks.
//
//   exchanges of a step ── each one's time on the target ── schedule beside computing ── step
//
// A job that was measured is predicted as its measured step plus what the model says the target
// changes, so that effects that the model does not have stay included. Values; pure functions; any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/predict/exchange_time.h"
#include "analysis/predict/job_profile.h"
#include "analysis/predict/wire.h"
#include "base/math/units.h"

namespace chokepoint::analysis {

// Where it differs from the profile; what is empty is as in the profile.
struct Target {
  PathProfile path = {};
  std::optional<double> back_mbps = {};    // of answers to calls, measured; else as the requests
  std::optional<double> inside_mbps = {};  // of one rank's link in its host; empty: as the path
  double nics = 1;                         // of a host, each of the path's rate
  std::optional<std::int64_t> ranks = {};
  std::optional<std::int64_t> nodes = {};
  // The job as it would then be: spread otherwise, or with another library or precision.
  std::optional<JobProfile> job = {};
  std::optional<Curve> curve = {};
  Congestion congestion = Congestion::Cubic;
  Transport transport = Transport::Unknown;
  Algorithm algorithm = Algorithm::Ring;
};

// A step of a grid's groups of one kind.
struct GroupTimes {
  Parallelism of = Parallelism::Unknown;  // Tensor, Data (also ZeRO), Pipeline
  double communication_ms = 0;
  double exposed_ms = 0;
};

struct Prediction {
  double step_ms = 0;
  double low_ms = 0;  // the step lies between these, if the inputs are right
  double high_ms = 0;
  double compute_ms = 0;
  double bubble_ms = 0;         // of a pipeline
  double communication_ms = 0;  // hidden by computing or not
  double exposed_ms = 0;
  double other_ms = 0;  // of a measured step: neither of these
  // What the models alone say, where the step is of the replayed run.
  std::optional<double> models_step_ms = {};
  std::optional<double> total_s = {};
  std::optional<double> speedup = {};   // over one processor alone; of a run over the run
  double rate_mbps = 0;                 // of payload, that a host's NICs carry for its ranks
  std::string limited_by = {};          // as of Wire, or "credit"
  std::optional<double> energy_j = {};  // of a step, all processors together
  Transport transport = Transport::Unknown;
  std::vector<GroupTimes> groups = {};  // by the models, where the job has a grid
};

Prediction predict(const JobProfile& profile, const Target& target);

// The same of a measured job whose run, replayed on the target, has steps of this length; of what a
// step gained, so much was a late rank's, which counts as computing.
Prediction replayed(Prediction prediction, const JobProfile& profile, double step_ms,
                    double less_late_ms);

// What is predicted of this profile: it, or the target's.
const JobProfile& job_of(const JobProfile& profile, const Target& target);

// The rate of a link that makes the step as long as this, all else as in the target. nullopt if no
// rate does.
std::optional<double> rate_that_explains(const JobProfile& profile, const Target& target,
                                         double step_ms);

// What a rank sends in a step, of payload.
double sent_bytes(const JobProfile& profile, std::int64_t ranks);

// How many ranks the target has, where, and with how many NICs.
Ranks ranks_of(const JobProfile& profile, const Target& target);

// Energy of a step of this length, where the power of a rank's processor is known.
std::optional<double> energy_j(const JobProfile& job, double ranks, double step_ms);

// When a step's exchanges are over: one after the other on the network, none before it is ready.
//
//   finish_i = max(ready_i, finish_{i−1}) + T_i
//   exposed = max(0, finish_last − end of computing)
struct Outcome {
  double communication_ms = 0;  // hidden or not
  double exposed_ms = 0;
};

// `overlap`: how much of the computing that is left when an exchange is ready may go on beside it;
// 0: communication waits for the end of all computing, 1: none waits.
Outcome schedule(const std::vector<PlannedExchange>& exchanges, double compute_ms, double overlap,
                 const std::function<double(const PlannedExchange&)>& time_ms);

// Predictions beside what came true.
struct Beside {
  double predicted = 0;
  double measured = 0;

  // nullopt where nothing was measured, of which everything is infinitely more.
  std::optional<double> error_percent() const;
};

// The run by the models alone: its computing and what it exchanges, nothing of how long that took.
JobProfile without_outcome(const JobProfile& profile);

// The target, and of the run that is predicted whatever was not asked for otherwise: its network,
// its ranks and their hosts.
Target on_network_of(const JobProfile& run, Target target);

struct CheckedStep {
  Beside step_ms = {};
  double low_ms = 0;
  double high_ms = 0;
};

struct CheckFigures {
  std::size_t count = 0;
  std::optional<double> median_error_percent = {};  // of errors without their sign
  std::optional<double> p90_error_percent = {};
  std::optional<double> within_percent = {};  // measured between low and high
};

CheckFigures figures_of(const std::vector<CheckedStep>& steps);

// What a faster link costs, and what it saves: upgrade.cc.

// A rate as people name a link: 5GbE and 25GbE beside all that math::parse_rate takes.
Result<math::Rate> parse_link(std::string_view text);

constexpr double kMostNics = 64;  // of a host

struct Upgrade {
  std::string name = {};
  math::Rate rate = {};
  std::optional<double> nics = {};  // of a host; empty: as many as now
  double cost = 0;                  // in any currency
};

// "5GbE=41000", "new switch:5GbE=41000", "2x10GbE=60000" of two NICs a host.
Result<Upgrade> parse_upgrade(std::string_view text);

struct Gain {
  double saved_s = 0;                          // a run; below 0 if it is slower
  std::optional<double> cost_of_hour = {};     // money for each hour saved, over all runs
  std::optional<double> paid_back_after = {};  // runs, if an hour has a price
};

Gain gain_of(const Upgrade& upgrade, double now_s, double then_s, double runs,
             std::optional<double> hour_price);

}  // namespace chokepoint::analysis
