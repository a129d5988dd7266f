// The parts of a preflight, in the order in which they run. Each adds to the progress with the
// hosts that are present by then, and returns early where the preflight is over. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "preflight/coordinator/schedule.h"
#include "preflight/coordinator/step.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight::coordinator {

// Who is there: waits until each host has come or gone, and no longer than the plan allows.
void await_all(RunningPreflight& progress);
// doctor and names, on all at once.
void greet(RunningPreflight& progress);

// A schedule between those who are there: its hosts are places in `who`.
struct Rounds {
  Schedule schedule = {};
  std::vector<HostIndex> who = {};

  Round round(std::size_t number) const;
};
// Makes a place for each pair in what is measured.
void prepare_pairs(RunningPreflight& progress, const Rounds& rounds);

void run_quiet(RunningPreflight& progress, const Rounds& rounds);
// Hosts have moments in which they are slow; a fault stays. The faster of both counts.
void repeat_slow_trips(RunningPreflight& progress);
void run_bulk(RunningPreflight& progress, const Rounds& rounds);
void test_again(RunningPreflight& progress, const Advisers& advisers);
// Between pairs that one flow does not show as they are: many flows, which of them are alike.
void compare_flows(RunningPreflight& progress, const Advisers& advisers);
void load_cuts(RunningPreflight& progress, const Advisers& advisers);
void run_rdma(RunningPreflight& progress, const Rounds& rounds);
void run_collective(RunningPreflight& progress);

// So little that it fills no queue, by the ports of both.
double light_rate(const RunningPreflight& progress, HostIndex a, HostIndex b);

// A task for the peer's server.
Task task_to(const RunningPreflight& progress, TaskKind kind, HostIndex peer,
             std::chrono::milliseconds time);
// A step with its place in the progress; left out where there is no time for it any more.
bool run_step(RunningPreflight& progress, const std::string& doing,
              std::chrono::milliseconds estimate, std::vector<struct Job> jobs);

}  // namespace chokepoint::preflight::coordinator
