#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "preflight/coordinator/hanging.h"
#include "preflight/coordinator/phases.h"
#include "preflight/coordinator/readings.h"
#include "preflight/coordinator/step.h"

namespace chokepoint::preflight::coordinator {
namespace {

using control::Json;

constexpr std::size_t kMaxCuts = 3;
constexpr std::size_t kMinHostsForCut = 4;

bool is_known(RunningPreflight& progress, const Pair& pair) {
  const PairResult* result = progress.pair(pair.first, pair.second);
  return result != nullptr && rate_of(result->there) && rate_of(result->back);
}

// So much that the slowest way does not make a collective of seconds.
std::int64_t bytes_of_collective(const RunningPreflight& progress) {
  constexpr double kBytesPerMbps = 0.1 * 1e6 / 8;  // of a tenth of a second
  constexpr double kMinBytes = 65536;
  auto bytes = static_cast<double>(progress.wanted.effort.collective_bytes);
  for (const PairResult& pair : progress.measured.pairs) {
    for (const PathResult* path : {&pair.there, &pair.back}) {
      if (const Figure mbps = rate_of(*path)) {
        bytes = std::min(bytes, static_cast<double>(*mbps) * kBytesPerMbps);
      }
    }
  }
  return static_cast<std::int64_t>(std::max(bytes, kMinBytes));
}

// Those with libgloo whose data arrive; the reasons of others are reported.
std::vector<HostIndex> ranks_of_collective(RunningPreflight& progress) {
  const Hanging hanging(progress.measured);
  std::vector<HostIndex> ranks = progress.present();
  std::size_t before = ranks.size();
  std::erase_if(ranks, [&](HostIndex host) {
    const auto& facts = progress.measured.hosts[host].facts;
    return !facts || !facts->has_gloo;
  });
  if (ranks.size() < before) {
    progress.leave_out(fmt::format("{} of {} hosts in the collective: they have no libgloo",
                                   before - ranks.size(), before));
  }
  before = ranks.size();
  std::erase_if(ranks, [&](HostIndex host) { return hanging.is_host(host); });
  if (ranks.size() < before) {
    progress.leave_out(fmt::format(
        "{} of {} hosts in the collective: what is sent to them or by them does not arrive",
        before - ranks.size(), before));
  }
  if (ranks.size() > kMaxHostsInTask) {
    progress.leave_out(fmt::format("{} of {} hosts in the collective: it has {} at most",
                                   ranks.size() - kMaxHostsInTask, ranks.size(), kMaxHostsInTask));
    ranks.resize(kMaxHostsInTask);
  }
  return ranks;
}

std::vector<HostIndex> present_of(const RunningPreflight& progress, std::vector<HostIndex> hosts) {
  const Hanging hanging(progress.measured);
  std::erase_if(
      hosts, [&](HostIndex host) { return !progress.is_present(host) || hanging.is_host(host); });
  return hosts;
}

// Each host once, and in one group only, whatever the adviser returned.
Cut clean(const RunningPreflight& progress, const Cut& cut) {
  Cut made{.left = present_of(progress, cut.left), .right = present_of(progress, cut.right)};
  std::set<HostIndex> seen;
  for (std::vector<HostIndex>* group : {&made.left, &made.right}) {
    std::erase_if(*group, [&](HostIndex host) { return !seen.insert(host).second; });
  }
  return made;
}

std::vector<Cut> wanted_cuts(const RunningPreflight& progress, const Advisers& advisers) {
  std::vector<Cut> cuts;
  if (advisers.cuts) {
    cuts = advisers.cuts(progress.measured);
  }
  if (cuts.empty()) {
    cuts.push_back(halves(progress.present()));
  }
  cuts.resize(std::min(cuts.size(), kMaxCuts));
  return cuts;
}

// A pair's two ways while all others were on as well.
struct Both {
  Pair pair = {};
  PathResult there = {};
  PathResult back = {};
};

Job both_directions(RunningPreflight& progress, Both& both) {
  Task task = task_to(progress, TaskKind::Tcp, both.pair.second, progress.wanted.effort.cut);
  task.receives = true;
  return {.host = both.pair.first,
          .peer = both.pair.second,
          .task = std::move(task),
          .keep = [&both](const Json& document) {
            return read_together(document, both.there, both.back);
          }};
}

void add_path(RunningPreflight& progress, HostIndex from, HostIndex to, float mbps,
              CutResult& result) {
  result.paths.emplace_back(from, to);
  result.together_mbps += static_cast<double>(mbps);
  PathResult* path = progress.path(from, to);
  const Figure by_itself = path == nullptr ? std::nullopt : rate_of(*path);
  if (path != nullptr) {
    path->together_mbps = mbps;
  }
  if (by_itself && result.alone_mbps) {
    *result.alone_mbps += static_cast<double>(*by_itself);
  } else {
    result.alone_mbps.reset();
  }
}

void load(RunningPreflight& progress, const Cut& cut) {
  std::vector<Both> all;
  for (const Pair& pair : across(cut, [&](const Pair& each) { return is_known(progress, each); })) {
    all.push_back({.pair = pair});
  }
  std::vector<Job> jobs;
  jobs.reserve(all.size());
  for (Both& both : all) {
    jobs.push_back(both_directions(progress, both));
  }
  run_step(progress, fmt::format("everything at once, {} pairs across", all.size()),
           progress.wanted.effort.cut + kTaskCost, std::move(jobs));
  CutResult result{.left = cut.left, .right = cut.right, .alone_mbps = 0.0};
  for (const Both& both : all) {
    if (both.there.together_mbps && both.back.together_mbps) {
      add_path(progress, both.pair.first, both.pair.second, *both.there.together_mbps, result);
      add_path(progress, both.pair.second, both.pair.first, *both.back.together_mbps, result);
    }
  }
  if (!result.paths.empty()) {
    progress.measured.cuts.push_back(std::move(result));
  }
}

// With its port where that is not the one that goes for all.
std::string rank_at(const RunningPreflight& progress, HostIndex host, std::uint16_t port) {
  const std::string& address = progress.measured.hosts[host].address;
  const std::uint16_t own = progress.wanted.hosts[host].port;
  if (own == port) {
    return address;
  }
  return address.contains(':') ? fmt::format("[{}]:{}", address, own)
                               : fmt::format("{}:{}", address, own);
}

// All wait for one that is frozen, and none knows which.
Error hangs(std::size_t ranks) {
  return {.kind = ErrorKind::Timeout,
          .operation = "probe collective",
          .subject = fmt::format("{} hosts", ranks),
          .reason = "it had not ended when the time was over",
          .next_step = "one of them hangs: run the preflight again, it names who does not answer"};
}

}  // namespace

void load_cuts(RunningPreflight& progress, const Advisers& advisers) {
  if (progress.is_over() || progress.present().size() < kMinHostsForCut) {
    return;
  }
  for (const Cut& cut : wanted_cuts(progress, advisers)) {
    if (!progress.has_time_for(progress.wanted.effort.cut + kTaskCost)) {
      progress.leave_out("everything at once, because time ran out (--time)");
      return;
    }
    load(progress, clean(progress, cut));
  }
}

void run_collective(RunningPreflight& progress) {
  if (progress.is_over() || progress.present().size() < 2) {
    return;
  }
  const std::vector<HostIndex> ranks = ranks_of_collective(progress);
  if (ranks.size() < 2) {
    return;
  }
  const Effort& effort = progress.wanted.effort;
  Task task{.kind = TaskKind::Collective,
            .port = progress.wanted.hosts[ranks.front()].port,
            .time = effort.collective,
            .bytes = bytes_of_collective(progress)};
  for (const HostIndex host : ranks) {
    task.hosts.push_back(rank_at(progress, host, task.port));
  }
  CollectiveResult result{.backend = "gloo", .ranks = static_cast<int>(ranks.size())};
  std::vector<Job> job{
      {.host = ranks.front(),
       .task = std::move(task),
       .keep = [&result](const Json& document) { return read_collective(document, result); },
       .failed = [&result](const Error& error) { result.error = error; }}};
  if (!run_step(progress, fmt::format("a collective over {} hosts", ranks.size()),
                effort.collective + 10 * kTaskCost, std::move(job))) {
    if (!progress.is_over()) {
      progress.leave_out("the collective, because time ran out (--time)");
    }
    return;
  }
  if (!result.error && !result.bus_mbps && !progress.is_over() &&
      progress.clock.monotonic_ns() >= progress.deadline_ns()) {
    result.error = hangs(ranks.size());
  }
  if (result.error || result.bus_mbps) {
    progress.measured.collective = std::move(result);
  }
}

}  // namespace chokepoint::preflight::coordinator
