#include "preflight/coordinator/coordinator.h"

#include "preflight/coordinator/phases.h"
#include "preflight/coordinator/step.h"

namespace chokepoint::preflight::coordinator {
namespace {

using std::chrono::milliseconds;

// What is left of the limit when all have come.
milliseconds limit_left(const RunningPreflight& progress) {
  if (progress.wanted.limit.count() == 0) {
    return milliseconds(0);
  }
  const std::int64_t left = (progress.deadline_ns() - progress.clock.monotonic_ns()) / kNsPerMs;
  return milliseconds(std::max<std::int64_t>(1, left));
}

Rounds rounds_of(const RunningPreflight& progress) {
  Rounds rounds{.who = progress.present()};
  rounds.schedule = schedule(progress.wanted.effort, rounds.who.size(), progress.wanted.seed,
                             limit_left(progress));
  return rounds;
}

void run_all(RunningPreflight& progress, const Advisers& advisers) {
  progress.expect(estimate(schedule(progress.wanted.effort, progress.wanted.hosts.size(),
                                    progress.wanted.seed, progress.wanted.limit)));
  await_all(progress);
  greet(progress);
  const Rounds rounds = rounds_of(progress);
  progress.expect(estimate(rounds.schedule));
  progress.measured.is_sampled = rounds.schedule.is_sampled();
  prepare_pairs(progress, rounds);
  run_quiet(progress, rounds);
  repeat_slow_trips(progress);
  run_bulk(progress, rounds);
  test_again(progress, advisers);
  compare_flows(progress, advisers);
  load_cuts(progress, advisers);
  run_rdma(progress, rounds);
  run_collective(progress);
}

}  // namespace

Task task_to(const RunningPreflight& progress, TaskKind kind, HostIndex peer, milliseconds time) {
  return {.kind = kind,
          .peer = progress.measured.hosts[peer].address,
          .port = progress.wanted.hosts[peer].port,
          .time = time};
}

bool run_step(RunningPreflight& progress, const std::string& doing, milliseconds estimate,
              std::vector<Job> jobs) {
  if (progress.is_over() || !progress.has_time_for(estimate)) {
    return false;
  }
  progress.begin(doing, estimate);
  Step(progress, std::move(jobs)).run();
  progress.end();
  return !progress.is_over();
}

CoordinatorResult run_preflight(Agents& agents, const Wanted& wanted, const Advisers& advisers,
                                const sys::Clock& clock, const OnProgress& report_progress) {
  const std::int64_t started = clock.monotonic_ns();
  RunningPreflight progress(agents, wanted, clock, report_progress);
  run_all(progress, advisers);
  progress.measured.duration_s = static_cast<double>(clock.monotonic_ns() - started) / 1e9;
  return {.measured = std::move(progress.measured), .broken = std::move(progress.broken)};
}

}  // namespace chokepoint::preflight::coordinator
