// The parts of a preflight, in the order in which they come. Each works on the course with the
// hosts that are there by then, and returns early where the course is over. One thread.
#pragma once

#include "preflight/lead/course.h"
#include "preflight/plan/schedule.h"

namespace chokepoint::preflight::lead {

// Who is there: waits until each host has come or gone, and no longer than the plan allows.
void await_all(LeadProgress& course);
// doctor and names, on all at once.
void greet(LeadProgress& course);

// A schedule between those who are there: its hosts are places in `who`.
struct Rounds {
  plan::Schedule schedule = {};
  std::vector<HostIndex> who = {};

  plan::Round round(std::size_t number) const;
};
// Makes a place for each pair in what is measured.
void prepare_pairs(LeadProgress& course, const Rounds& rounds);

void run_quiet(LeadProgress& course, const Rounds& rounds);
// Hosts have moments in which they are slow; a fault stays. The faster of both counts.
void repeat_slow_trips(LeadProgress& course);
void run_bulk(LeadProgress& course, const Rounds& rounds);
void test_again(LeadProgress& course, const Advisers& advisers);
void load_cuts(LeadProgress& course, const Advisers& advisers);
void run_rdma(LeadProgress& course, const Rounds& rounds);
void run_collective(LeadProgress& course);

// A task for the peer's server.
Task task_to(const LeadProgress& course, TaskKind kind, HostIndex peer,
             std::chrono::milliseconds time);
// A step with its place in the progress; left out where there is no time for it any more.
bool run_step(LeadProgress& course, const std::string& doing, std::chrono::milliseconds estimate,
              std::vector<struct Job> jobs);

}  // namespace chokepoint::preflight::lead
