#include <fmt/format.h>

#include <algorithm>

#include "preflight/lead/phases.h"
#include "preflight/lead/readings.h"
#include "preflight/lead/step.h"

namespace chokepoint::preflight::lead {
namespace {

using control::Json;
using std::chrono::milliseconds;

// To see that packets are lost it takes many of them; to see that the path loses them, and not a
// queue that they fill, it takes few of what the slower of both ports carries.
constexpr double kLossRate = 10e6;
constexpr double kLossShare = 0.05;
constexpr double kLeastLossRate = 100e3;
// A path that is silent is given up then.
constexpr milliseconds kPathPatience{6000};
// Whether a connection comes about at all.
constexpr milliseconds kFamilyTime{50};

std::optional<double> port_mbps(const HostResult& host) {
  if (!host.facts) {
    return std::nullopt;
  }
  for (const InterfaceFacts& interface : host.facts->interfaces) {
    if (std::ranges::find(interface.addresses, host.address) != interface.addresses.end()) {
      return interface.speed_mbps;
    }
  }
  return std::nullopt;
}

double loss_rate(const LeadProgress& course, HostIndex a, HostIndex b) {
  double rate = kLossRate;
  for (const HostIndex host : {a, b}) {
    if (const auto mbps = port_mbps(course.measured.hosts[host])) {
      rate = std::min(rate, *mbps * 1e6 * kLossShare);
    }
  }
  return std::max(rate, kLeastLossRate);
}

Job latency_job(LeadProgress& course, PairResult& pair) {
  return {.host = pair.a,
          .peer = pair.b,
          .task = task_to(course, TaskKind::Latency, pair.b, course.wanted.effort.latency),
          .keep = [&pair](const Json& document) { return read_latency(document, pair); }};
}

// Monotonic clocks start with their hosts; what is wanted is how far apart the hosts' time of day
// is.
void keep_clock(const LeadProgress& course, const Json& document, PairResult& pair) {
  const auto& own = course.measured.hosts[pair.a].facts;
  const auto& other = course.measured.hosts[pair.b].facts;
  const std::optional<double> offset = monotonic_offset_ms(document);
  if (offset && own && other && own->wall_less_monotonic_ms && other->wall_less_monotonic_ms) {
    pair.clock_offset_ms =
        static_cast<float>(*offset + *other->wall_less_monotonic_ms - *own->wall_less_monotonic_ms);
  } else {
    pair.clock_uncertainty_ms.reset();
  }
}

Job loss_job(LeadProgress& course, PairResult& pair) {
  Task task = task_to(course, TaskKind::Loss, pair.b, course.wanted.effort.loss);
  task.receives = true;
  task.rate_bits_per_s = loss_rate(course, pair.a, pair.b);
  return {.host = pair.a,
          .peer = pair.b,
          .task = std::move(task),
          .keep = [&course, &pair](const Json& document) {
            const Result<> read = read_loss(document, pair);
            if (read) {
              keep_clock(course, document, pair);
            }
            return read;
          }};
}

Job path_job(LeadProgress& course, PairResult& pair) {
  return {.host = pair.a,
          .peer = pair.b,
          .task = task_to(course, TaskKind::Path, pair.b, kPathPatience),
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

Job family_job(LeadProgress& course, PairResult& pair, const std::string& address) {
  Task task = task_to(course, TaskKind::Latency, pair.b, kFamilyTime);
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

Job tcp_job(LeadProgress& course, HostIndex from, HostIndex to) {
  return {.host = from,
          .peer = to,
          .task = task_to(course, TaskKind::Tcp, to, course.wanted.effort.tcp),
          .keep = [&course, from, to](const Json& document) {
            return read_tcp(document, *course.way(from, to));
          }};
}

bool both_present(const LeadProgress& course, const plan::Pair& pair) {
  return course.is_present(pair.first) && course.is_present(pair.second);
}

std::vector<Job> quiet_jobs(LeadProgress& course, const plan::Round& round, bool with_path) {
  std::vector<Job> jobs;
  for (const auto& [a, b] : round) {
    PairResult& pair = *course.pair(a, b);
    jobs.push_back(latency_job(course, pair));
    jobs.push_back(loss_job(course, pair));
    if (with_path) {
      jobs.push_back(path_job(course, pair));
      const std::vector<HostResult>& hosts = course.measured.hosts;
      if (const auto address = other_family_address(hosts[a], hosts[b])) {
        jobs.push_back(family_job(course, pair, *address));
      }
    }
  }
  return jobs;
}

std::vector<Job> bulk_jobs(LeadProgress& course, const Hanging& hanging, const plan::Round& round,
                           bool is_there) {
  std::vector<Job> jobs;
  for (const auto& [a, b] : round) {
    const auto [from, to] = is_there ? std::pair(a, b) : std::pair(b, a);
    if (!hanging.is_way(from, to)) {
      jobs.push_back(tcp_job(course, from, to));
    }
  }
  return jobs;
}

std::string counted(std::string_view what, std::size_t number, const Rounds& rounds) {
  return fmt::format("{}, round {} of {}", what, number + 1, rounds.schedule.rounds);
}

void leave_out_from(LeadProgress& course, std::string_view what, std::size_t number,
                    const Rounds& rounds) {
  if (!course.is_over()) {
    course.leave_out(fmt::format("{}: rounds {} to {} of {}, for want of time (--time-limit)", what,
                                 number + 1, rounds.schedule.rounds, rounds.schedule.rounds));
  }
}

// What was not tested because it would only have hung.
void tell_spared(LeadProgress& course) {
  const Hanging hanging(course.measured);
  std::size_t ways = 0;
  for (const PairResult& pair : course.measured.pairs) {
    ways += !pair.there.tcp_mbps && hanging.is_way(pair.a, pair.b) ? 1 : 0;
    ways += !pair.back.tcp_mbps && hanging.is_way(pair.b, pair.a) ? 1 : 0;
  }
  if (ways > 0) {
    course.leave_out(fmt::format(
        "throughput on {} ways, where large packets vanish or a test did not end", ways));
  }
}

}  // namespace

plan::Round Rounds::round(std::size_t number) const {
  plan::Round round = schedule.round(number);
  for (auto& [a, b] : round) {
    // Those who are there are in order, so the lesser stays the lesser.
    a = who[a];
    b = who[b];
  }
  return round;
}

void prepare_pairs(LeadProgress& course, const Rounds& rounds) {
  std::vector<PairResult>& pairs = course.measured.pairs;
  pairs.reserve(rounds.schedule.pairs());
  for (std::size_t number = 0; number < rounds.schedule.rounds; ++number) {
    for (const auto& [a, b] : rounds.round(number)) {
      pairs.push_back({.a = a, .b = b});
    }
  }
  std::ranges::sort(pairs, std::less<>(),
                    [](const PairResult& each) { return std::pair(each.a, each.b); });
}

void run_quiet(LeadProgress& course, const Rounds& rounds) {
  for (std::size_t number = 0; number < rounds.schedule.rounds; ++number) {
    const bool with_path = number < rounds.schedule.path_rounds();
    if (!run_step(course, counted("latency and loss", number, rounds),
                  plan::quiet_round_time(course.wanted.effort, with_path),
                  quiet_jobs(course, rounds.round(number), with_path))) {
      leave_out_from(course, "latency, loss and path", number, rounds);
      return;
    }
  }
}

void run_bulk(LeadProgress& course, const Rounds& rounds) {
  const milliseconds half = plan::bulk_round_time(course.wanted.effort) / 2;
  // Looked at anew only after troubles: it goes through all pairs, of which there may be millions.
  Hanging hanging(course.measured);
  std::size_t troubles = course.measured.troubles.size();
  const auto run_half = [&](const std::string& doing, const plan::Round& round, bool is_there) {
    if (course.measured.troubles.size() != troubles) {
      hanging = Hanging(course.measured);
      troubles = course.measured.troubles.size();
    }
    return run_step(course, doing, half, bulk_jobs(course, hanging, round, is_there));
  };
  for (std::size_t number = 0; number < rounds.schedule.rounds; ++number) {
    const plan::Round round = rounds.round(number);
    const std::string doing = counted("throughput", number, rounds);
    if (!run_half(doing + ", there", round, true) || !run_half(doing + ", back", round, false)) {
      leave_out_from(course, "throughput", number, rounds);
      break;
    }
  }
  tell_spared(course);
}

void run_rdma(LeadProgress& course, const Rounds& rounds) {
  const auto has_rdma = [&](HostIndex host) {
    const auto& facts = course.measured.hosts[host].facts;
    return facts && std::ranges::any_of(facts->rdma, &RdmaPortFacts::is_active);
  };
  const milliseconds time = course.wanted.effort.rdma;
  const milliseconds estimate = 3 * (time + 2 * plan::kTaskCost);
  for (std::size_t number = 0; number < rounds.schedule.rounds; ++number) {
    std::vector<Job> there;
    std::vector<Job> back;
    for (const auto& [a, b] : rounds.round(number)) {
      if (!both_present(course, {a, b}) || !has_rdma(a) || !has_rdma(b)) {
        continue;
      }
      PairResult& pair = *course.pair(a, b);
      there.push_back(
          {.host = a,
           .peer = b,
           .task = task_to(course, TaskKind::RdmaLatency, b, time),
           .keep = [&pair](const Json& document) { return read_rdma_latency(document, pair); }});
      there.push_back({.host = a,
                       .peer = b,
                       .task = task_to(course, TaskKind::RdmaBandwidth, b, time),
                       .keep = [&pair](const Json& document) {
                         return read_rdma_bandwidth(document, pair.there);
                       }});
      back.push_back({.host = b,
                      .peer = a,
                      .task = task_to(course, TaskKind::RdmaBandwidth, a, time),
                      .keep = [&pair](const Json& document) {
                        return read_rdma_bandwidth(document, pair.back);
                      }});
    }
    if (there.empty()) {
      continue;
    }
    course.expect_more(estimate);
    const std::string doing = counted("RDMA", number, rounds);
    if (!run_step(course, doing, estimate * 2 / 3, std::move(there)) ||
        !run_step(course, doing, estimate / 3, std::move(back))) {
      leave_out_from(course, "RDMA", number, rounds);
      return;
    }
  }
}

}  // namespace chokepoint::preflight::lead
