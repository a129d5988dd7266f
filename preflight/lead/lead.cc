#include "preflight/lead/lead.h"

#include "preflight/lead/phases.h"
#include "preflight/lead/step.h"

namespace chokepoint::preflight::lead {
namespace {

using std::chrono::milliseconds;

// What is left of the limit when all have come.
milliseconds limit_left(const LeadProgress& course) {
  if (course.wanted.limit.count() == 0) {
    return milliseconds(0);
  }
  const std::int64_t left = (course.deadline_ns() - course.clock.monotonic_ns()) / kNsPerMs;
  return milliseconds(std::max<std::int64_t>(1, left));
}

Rounds rounds_of(const LeadProgress& course) {
  Rounds rounds{.who = course.present()};
  rounds.schedule = plan::schedule(course.wanted.effort, rounds.who.size(), course.wanted.seed,
                                   limit_left(course));
  return rounds;
}

void run_all(LeadProgress& course, const Advisers& advisers) {
  course.expect(plan::estimate(plan::schedule(course.wanted.effort, course.wanted.hosts.size(),
                                              course.wanted.seed, course.wanted.limit)));
  await_all(course);
  greet(course);
  const Rounds rounds = rounds_of(course);
  course.expect(plan::estimate(rounds.schedule));
  course.measured.is_sampled = rounds.schedule.is_sampled();
  prepare_pairs(course, rounds);
  run_quiet(course, rounds);
  repeat_slow_trips(course);
  run_bulk(course, rounds);
  test_again(course, advisers);
  load_cuts(course, advisers);
  run_rdma(course, rounds);
  run_collective(course);
}

}  // namespace

Task task_to(const LeadProgress& course, TaskKind kind, HostIndex peer, milliseconds time) {
  return {.kind = kind,
          .peer = course.measured.hosts[peer].address,
          .port = course.wanted.hosts[peer].port,
          .time = time};
}

bool run_step(LeadProgress& course, const std::string& doing, milliseconds estimate,
              std::vector<Job> jobs) {
  if (course.is_over() || !course.has_time_for(estimate)) {
    return false;
  }
  course.begin(doing, estimate);
  Step(course, std::move(jobs)).run();
  course.end();
  return !course.is_over();
}

Led lead(Agents& agents, const Wanted& wanted, const Advisers& advisers, const sys::Clock& clock,
         const Tell& tell) {
  const std::int64_t started = clock.monotonic_ns();
  LeadProgress course(agents, wanted, clock, tell);
  run_all(course, advisers);
  course.measured.duration_s = static_cast<double>(clock.monotonic_ns() - started) / 1e9;
  return {.measured = std::move(course.measured), .broken = std::move(course.broken)};
}

}  // namespace chokepoint::preflight::lead
