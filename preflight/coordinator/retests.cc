#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "preflight/coordinator/hanging.h"
#include "preflight/coordinator/phases.h"
#include "preflight/coordinator/readings.h"
#include "preflight/coordinator/step.h"

namespace chokepoint::preflight::coordinator {
namespace {

using control::Json;
using std::chrono::milliseconds;

// Far from what is usual here, and more than any switch takes.
constexpr float kSlowTimes = 3;
constexpr float kSlowMs = 0.5F;

float usual_ms(const std::vector<PairResult>& pairs) {
  std::vector<float> all;
  for (const PairResult& pair : pairs) {
    if (pair.rtt_ms) {
      all.push_back(*pair.rtt_ms);
    }
  }
  if (all.empty()) {
    return 0;
  }
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle);
  return *middle;
}

// The slowest first.
std::vector<PairResult*> slow_trips(std::vector<PairResult>& pairs) {
  const float limit = std::max(kSlowMs, kSlowTimes * usual_ms(pairs));
  std::vector<PairResult*> slow;
  for (PairResult& pair : pairs) {
    if (pair.rtt_ms && *pair.rtt_ms > limit) {
      slow.push_back(&pair);
    }
  }
  std::ranges::sort(slow, std::greater<>(), [](const PairResult* each) { return *each->rtt_ms; });
  return slow;
}

Result<> keep_faster(const Json& document, PairResult& pair) {
  PairResult again;
  const Result<> read = read_latency(document, again);
  if (read && again.rtt_ms && again.rtt_ms < pair.rtt_ms) {
    pair.rtt_ms = again.rtt_ms;
    pair.rtt_p99_ms = again.rtt_p99_ms;
    pair.rtt_min_ms = again.rtt_min_ms;
  }
  return read;
}

// How long the routers of all flows are looked for, where these limit their answers.
constexpr milliseconds kRouters{8000};

// An agent of an older version does not know the task; a server may not offer it.
Job flows_job(RunningPreflight& progress, TaskKind kind, BundleResult& bundle, milliseconds time) {
  Task task = task_to(progress, kind, bundle.peer, time);
  task.rate_bits_per_s = light_rate(progress, bundle.asked, bundle.peer);
  const std::string names =
      fmt::format("{} and {}", progress.name_of(bundle.asked), progress.name_of(bundle.peer));
  return {.host = bundle.asked,
          .peer = bundle.peer,
          .task = std::move(task),
          .keep = [&bundle](const Json& document) { return read_flows(document, bundle); },
          .failed =
              [&progress, names](const Error& error) {
                progress.leave_out(fmt::format(
                    "the parallel links between {} were not compared: {}", names, describe(error)));
              }};
}

// By small packets, which show loss and delay; then by TCP, which shows a member that carries less.
void compare_flows_of(RunningPreflight& progress, BundleResult& bundle) {
  const std::string doing =
      fmt::format("parallel links between {} and {}", progress.name_of(bundle.asked),
                  progress.name_of(bundle.peer));
  const auto compare = [&](TaskKind kind, milliseconds time, milliseconds estimate) {
    progress.expect_more(estimate);
    std::vector<Job> job{flows_job(progress, kind, bundle, time)};
    return run_step(progress, doing, estimate, std::move(job));
  };
  const Effort& effort = progress.wanted.effort;
  if (!compare(TaskKind::Flows, effort.flows, effort.flows + kRouters + kTaskCost)) {
    progress.leave_out(doing + " were not compared because time ran out");
    return;
  }
  if (bundle.bad.empty() && !bundle.verdict.empty() &&
      !compare(TaskKind::Rates, effort.rates, effort.rates * 3 / 2 + kTaskCost)) {
    progress.leave_out(doing + " were not compared by TCP because time ran out");
  }
}

}  // namespace

void repeat_slow_trips(RunningPreflight& progress) {
  const milliseconds time = progress.wanted.effort.latency;
  const milliseconds each = time + kTaskCost;
  std::vector<PairResult*> slow = slow_trips(progress.measured.pairs);
  slow.resize(std::min(slow.size(), progress.wanted.effort.most_suspects));
  progress.expect_more(each * static_cast<std::int64_t>(slow.size()));
  for (PairResult* pair : slow) {
    std::vector<Job> job{
        {.host = pair->a,
         .peer = pair->b,
         .task = task_to(progress, TaskKind::Latency, pair->b, time),
         .keep = [pair](const Json& document) { return keep_faster(document, *pair); }}};
    if (!run_step(progress, "slow round trips again, alone", each, std::move(job))) {
      return;
    }
  }
}

void test_again(RunningPreflight& progress, const Advisers& advisers) {
  if (!advisers.suspects || progress.is_over()) {
    return;
  }
  const Hanging hanging(progress.measured);
  std::vector<Pair> paths = advisers.suspects(progress.measured);
  std::erase_if(paths, [&](const Pair& path) {
    return progress.path(path.first, path.second) == nullptr ||
           hanging.contains(path.first, path.second);
  });
  const std::size_t all = paths.size();
  const std::size_t most = progress.wanted.effort.most_suspects;
  if (all > most) {
    progress.leave_out(fmt::format("{} of {} paths that looked slow were not tested again, alone",
                                   all - most, all));
    paths.resize(most);
  }
  const std::chrono::milliseconds each = progress.wanted.effort.again + kTaskCost;
  progress.expect_more(each * static_cast<std::int64_t>(paths.size()));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto [from, to] = paths[i];
    PathResult* path = progress.path(from, to);
    std::vector<Job> job{
        {.host = from,
         .peer = to,
         .task = task_to(progress, TaskKind::Tcp, to, progress.wanted.effort.again),
         .keep = [path](const Json& document) { return read_alone(document, *path); }}};
    if (!run_step(progress, fmt::format("suspects again, alone, {} of {}", i + 1, paths.size()),
                  each, std::move(job))) {
      progress.leave_out(
          fmt::format("{} of {} suspect paths were not tested again because time ran out",
                      paths.size() - i, paths.size()));
      return;
    }
  }
}

void compare_flows(RunningPreflight& progress, const Advisers& advisers) {
  if (!advisers.bundles || progress.is_over()) {
    return;
  }
  std::vector<Pair> paths = advisers.bundles(progress.measured);
  std::erase_if(paths, [&](const Pair& path) {
    return progress.path(path.first, path.second) == nullptr || !progress.is_present(path.first) ||
           !progress.is_present(path.second);
  });
  paths.resize(std::min(paths.size(), progress.wanted.effort.most_bundles));
  for (const Pair& path : paths) {
    BundleResult bundle{.asked = path.first, .peer = path.second};
    compare_flows_of(progress, bundle);
    if (!bundle.verdict.empty()) {
      progress.measured.bundles.push_back(std::move(bundle));
    }
  }
}

}  // namespace chokepoint::preflight::coordinator
