#include <fmt/format.h>

#include <algorithm>

#include "preflight/coordinator/agent_addresses.h"
#include "preflight/coordinator/hanging.h"
#include "preflight/coordinator/phases.h"
#include "preflight/coordinator/readings.h"
#include "preflight/coordinator/step.h"

namespace chokepoint::preflight::coordinator {
namespace {

using control::Json;
using std::chrono::milliseconds;

// To see that packets are lost it takes many of them; to see that the path loses them, and not a
// queue that they fill, it takes few of what the slower of both ports carries.
constexpr double kLossRate = 10e6;
constexpr double kLossShare = 0.05;
constexpr double kMinLossRate = 100e3;
// A path that is silent is given up then.
constexpr milliseconds kPathTimeLimit{6000};
// Whether a connection comes about at all.
constexpr milliseconds kFamilyTime{50};

Job latency_job(RunningPreflight& progress, PairResult& pair) {
  return {.host = pair.a,
          .peer = pair.b,
          .task = task_to(progress, TaskKind::Latency, pair.b, progress.wanted.effort.latency),
          .keep = [&pair](const Json& document) { return read_latency(document, pair); }};
}

// Monotonic clocks start with their hosts; what is wanted is how far apart the hosts' time of day
// is.
void keep_clock(const RunningPreflight& progress, const Json& document, PairResult& pair) {
  const auto& own = progress.measured.hosts[pair.a].facts;
  const auto& other = progress.measured.hosts[pair.b].facts;
  const std::optional<double> offset = monotonic_offset_ms(document);
  if (offset && own && other && own->wall_less_monotonic_ms && other->wall_less_monotonic_ms) {
    pair.clock_offset_ms =
        static_cast<float>(*offset + *other->wall_less_monotonic_ms - *own->wall_less_monotonic_ms);
  } else {
    pair.clock_uncertainty_ms.reset();
  }
}

Job loss_job(RunningPreflight& progress, PairResult& pair) {
  Task task = task_to(progress, TaskKind::Loss, pair.b, progress.wanted.effort.loss);
  task.receives = true;
  task.rate_bits_per_s = light_rate(progress, pair.a, pair.b);
  return {.host = pair.a,
          .peer = pair.b,
          .task = std::move(task),
          .keep = [&progress, &pair](const Json& document) {
            const Result<> read = read_loss(document, pair);
            if (read) {
              keep_clock(progress, document, pair);
            }
            return read;
          }};
}

Job path_job(RunningPreflight& progress, PairResult& pair) {
  return {.host = pair.a,
          .peer = pair.b,
          .task = task_to(progress, TaskKind::Path, pair.b, kPathTimeLimit),
          .keep = [&pair](const Json& document) { return read_path(document, pair); }};
}

// A refused connection is no failure of the family: the peer answered, and its agent listens only
// to the other one.
void keep_family(const std::string& address, const Error* error, PairResult& pair) {
  const bool is_ipv6 = address.find(':') != std::string::npos;
  FamilyState& state = is_ipv6 ? pair.ipv6 : pair.ipv4;
  if (error == nullptr) {
    state = FamilyState::Works;
  } else if (error->kind != ErrorKind::Refused) {
    state = FamilyState::Fails;
  }
}

Job family_job(RunningPreflight& progress, PairResult& pair, const std::string& address) {
  Task task = task_to(progress, TaskKind::Latency, pair.b, kFamilyTime);
  task.peer = address;
  return {.host = pair.a,
          .peer = pair.b,
          .task = std::move(task),
          .keep = [&pair, address](const Json& /*document*/) -> Result<> {
            keep_family(address, nullptr, pair);
            return {};
          },
          .failed = [&pair, address](const Error& error) { keep_family(address, &error, pair); }};
}

Job tcp_job(RunningPreflight& progress, HostIndex from, HostIndex to) {
  return {.host = from,
          .peer = to,
          .task = task_to(progress, TaskKind::Tcp, to, progress.wanted.effort.tcp),
          .keep = [&progress, from, to](const Json& document) {
            return read_tcp(document, *progress.path(from, to));
          }};
}

bool both_present(const RunningPreflight& progress, const Pair& pair) {
  return progress.is_present(pair.first) && progress.is_present(pair.second);
}

std::vector<Job> quiet_jobs(RunningPreflight& progress, const Round& round, bool with_path) {
  std::vector<Job> jobs;
  for (const auto& [a, b] : round) {
    PairResult& pair = *progress.pair(a, b);
    jobs.push_back(latency_job(progress, pair));
    jobs.push_back(loss_job(progress, pair));
    if (with_path) {
      jobs.push_back(path_job(progress, pair));
      const std::vector<HostResult>& hosts = progress.measured.hosts;
      if (const auto address = other_family_address(hosts[a], hosts[b])) {
        jobs.push_back(family_job(progress, pair, *address));
      }
    }
  }
  return jobs;
}

std::vector<Job> bulk_jobs(RunningPreflight& progress, const Hanging& hanging, const Round& round,
                           bool is_there) {
  std::vector<Job> jobs;
  for (const auto& [a, b] : round) {
    const auto [from, to] = is_there ? std::pair(a, b) : std::pair(b, a);
    if (!hanging.contains(from, to)) {
      jobs.push_back(tcp_job(progress, from, to));
    }
  }
  return jobs;
}

std::string counted(std::string_view what, std::size_t number, const Rounds& rounds) {
  return fmt::format("{}, round {} of {}", what, number + 1, rounds.schedule.rounds);
}

void leave_out_from(RunningPreflight& progress, std::string_view what, std::size_t number,
                    const Rounds& rounds) {
  if (!progress.is_over()) {
    progress.leave_out(fmt::format("{}: rounds {} to {} of {}, because time ran out (--time)", what,
                                   number + 1, rounds.schedule.rounds, rounds.schedule.rounds));
  }
}

// What was not tested because it would only have hung.
void report_untested_paths(RunningPreflight& progress) {
  const Hanging hanging(progress.measured);
  std::size_t paths = 0;
  for (const PairResult& pair : progress.measured.pairs) {
    paths += !pair.there.tcp_mbps && hanging.contains(pair.a, pair.b) ? 1 : 0;
    paths += !pair.back.tcp_mbps && hanging.contains(pair.b, pair.a) ? 1 : 0;
  }
  if (paths > 0) {
    progress.leave_out(fmt::format(
        "throughput on {} paths, where large packets vanish or a test did not end", paths));
  }
}

}  // namespace

double light_rate(const RunningPreflight& progress, HostIndex a, HostIndex b) {
  double rate = kLossRate;
  for (const HostIndex host : {a, b}) {
    const InterfaceFacts* port = tested_interface(progress.measured.hosts[host]);
    if (port != nullptr && port->speed_mbps) {
      rate = std::min(rate, *port->speed_mbps * 1e6 * kLossShare);
    }
  }
  return std::max(rate, kMinLossRate);
}

Round Rounds::round(std::size_t number) const {
  Round round = schedule.round(number);
  for (auto& [a, b] : round) {
    // Those who are there are in order, so the lesser stays the lesser.
    a = who[a];
    b = who[b];
  }
  return round;
}

void prepare_pairs(RunningPreflight& progress, const Rounds& rounds) {
  std::vector<PairResult>& pairs = progress.measured.pairs;
  pairs.reserve(rounds.schedule.pairs());
  for (std::size_t number = 0; number < rounds.schedule.rounds; ++number) {
    for (const auto& [a, b] : rounds.round(number)) {
      pairs.push_back({.a = a, .b = b});
    }
  }
  std::ranges::sort(pairs, std::less<>(),
                    [](const PairResult& each) { return std::pair(each.a, each.b); });
}

void run_quiet(RunningPreflight& progress, const Rounds& rounds) {
  for (std::size_t number = 0; number < rounds.schedule.rounds; ++number) {
    const bool with_path = number < rounds.schedule.path_rounds();
    if (!run_step(progress, counted("latency and loss", number, rounds),
                  quiet_round_time(progress.wanted.effort, with_path),
                  quiet_jobs(progress, rounds.round(number), with_path))) {
      leave_out_from(progress, "latency, loss and path", number, rounds);
      return;
    }
  }
}

void run_bulk(RunningPreflight& progress, const Rounds& rounds) {
  const milliseconds half = bulk_round_time(progress.wanted.effort) / 2;
  // Looked at anew only after troubles: it goes through all pairs, of which there may be millions.
  Hanging hanging(progress.measured);
  std::size_t troubles = progress.measured.troubles.size();
  const auto run_half = [&](const std::string& doing, const Round& round, bool is_there) {
    if (progress.measured.troubles.size() != troubles) {
      hanging = Hanging(progress.measured);
      troubles = progress.measured.troubles.size();
    }
    return run_step(progress, doing, half, bulk_jobs(progress, hanging, round, is_there));
  };
  for (std::size_t number = 0; number < rounds.schedule.rounds; ++number) {
    const Round round = rounds.round(number);
    const std::string doing = counted("throughput", number, rounds);
    if (!run_half(doing + ", there", round, true) || !run_half(doing + ", back", round, false)) {
      leave_out_from(progress, "throughput", number, rounds);
      break;
    }
  }
  report_untested_paths(progress);
}

void run_rdma(RunningPreflight& progress, const Rounds& rounds) {
  const auto has_rdma = [&](HostIndex host) {
    const auto& facts = progress.measured.hosts[host].facts;
    return facts && std::ranges::any_of(facts->rdma, &RdmaPortFacts::is_active);
  };
  const milliseconds time = progress.wanted.effort.rdma;
  const milliseconds estimate = 3 * (time + 2 * kTaskCost);
  for (std::size_t number = 0; number < rounds.schedule.rounds; ++number) {
    std::vector<Job> there;
    std::vector<Job> back;
    for (const auto& [a, b] : rounds.round(number)) {
      if (!both_present(progress, {a, b}) || !has_rdma(a) || !has_rdma(b)) {
        continue;
      }
      PairResult& pair = *progress.pair(a, b);
      there.push_back(
          {.host = a,
           .peer = b,
           .task = task_to(progress, TaskKind::RdmaLatency, b, time),
           .keep = [&pair](const Json& document) { return read_rdma_latency(document, pair); }});
      there.push_back({.host = a,
                       .peer = b,
                       .task = task_to(progress, TaskKind::RdmaBandwidth, b, time),
                       .keep = [&pair](const Json& document) {
                         return read_rdma_bandwidth(document, pair.there);
                       }});
      back.push_back({.host = b,
                      .peer = a,
                      .task = task_to(progress, TaskKind::RdmaBandwidth, a, time),
                      .keep = [&pair](const Json& document) {
                        return read_rdma_bandwidth(document, pair.back);
                      }});
    }
    if (there.empty()) {
      continue;
    }
    progress.expect_more(estimate);
    const std::string doing = counted("RDMA", number, rounds);
    if (!run_step(progress, doing, estimate * 2 / 3, std::move(there)) ||
        !run_step(progress, doing, estimate / 3, std::move(back))) {
      leave_out_from(progress, "RDMA", number, rounds);
      return;
    }
  }
}

}  // namespace chokepoint::preflight::coordinator
