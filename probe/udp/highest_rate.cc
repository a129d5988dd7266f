#include "probe/udp/highest_rate.h"

#include <algorithm>

namespace chokepoint::probe::udp {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kUsualTrial{250};
constexpr milliseconds kLongestTrial{2000};
// So few that one lost by chance is more than the usual limit, so many that a slow path is not
// tried for minutes.
constexpr double kPackets = 200;

nanoseconds trial_time(double bits_per_s, std::size_t packet_bytes) {
  const double seconds = kPackets * static_cast<double>(packet_bytes) * 8 / bits_per_s;
  return std::clamp<nanoseconds>(nanoseconds(static_cast<std::int64_t>(seconds * 1e9)), kUsualTrial,
                                 kLongestTrial);
}

Trial trial_of(const Outcome& outcome, double bits_per_s) {
  constexpr double kMega = 1e6;
  const double sent = std::max(static_cast<double>(outcome.packets_sent), 1.0);
  return {.bits_per_s = bits_per_s,
          .offered_bits_per_s = outcome.offered_mbps * kMega,
          .delivered_bits_per_s = outcome.throughput_mbps * kMega,
          .loss = outcome.packets_sent == 0 ? 1 : outcome.loss(),
          .loss_in_queue = static_cast<double>(outcome.lost_in_queue) / sent,
          .interface_full = outcome.interface_full(),
          .stalled = outcome.stalled() && !outcome.interface_full()};
}

}  // namespace

Trial trial_of(const std::vector<Outcome>& outcomes, double bits_per_s) {
  Trial worst = trial_of(outcomes.front(), bits_per_s);
  for (const Outcome& outcome : outcomes) {
    const Trial trial = trial_of(outcome, bits_per_s);
    if (trial.delivered_bits_per_s < worst.delivered_bits_per_s) {
      worst = trial;
    }
  }
  return worst;
}

Result<Found> find_highest_rate(Test& test, RunPlan& plan, const SearchPlan& search,
                                const TrialWatch& watch) {
  RateSearch rates(search.most_loss, search.most_bits_per_s);
  Found found;
  while (const std::optional<double> rate = rates.next()) {
    RunPlan trial_plan = plan;
    trial_plan.bits_per_s = *rate;
    trial_plan.time = std::min(plan.time, trial_time(*rate, plan.packet_bytes));
    Result<RunResult> result = test.run(trial_plan, [](const Live&) {});
    if (!result) {
      return std::unexpected(result.error());
    }
    ++plan.run;
    ++found.trials;
    const Trial trial = trial_of(outcomes_of(*result, trial_plan, search.direction), *rate);
    const TrialEnd end = judge(trial, search.most_loss);
    found.interrupted = result->interrupted;
    if (!found.best || (end == TrialEnd::Passed && *rate > found.best_plan.bits_per_s)) {
      found.best = std::move(*result);
      found.best_plan = trial_plan;
    }
    if (found.interrupted) {
      break;
    }
    watch(trial, end);
    rates.add(trial);
  }
  found.bits_per_s = rates.best_bits_per_s();
  found.obstacle = rates.obstacle();
  return found;
}

}  // namespace chokepoint::probe::udp
