// usage: preflight_sampling [TRIALS [HOSTS…]]
//
// How often a sampled preflight finds a single fault: the plan's own rounds and the judgement
// itself, over made-up networks in which one thing, chosen at random, carries a tenth of what it
// should. A line of JSON for each case:
//
//   cable   a host's; found: that host's port is named, and nobody else's
//   trunk   one of a leaf's links up, which takes a share 1/paths of the leaf's flows by their
//   hash;
//           found: a way that goes over it is named. 'met' counts the flows that went over it
//   lossy   such a link that loses 1 % of its packets, and is as fast as the others
//   pair    between two hosts alone, both ways; found: they are named
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/json/codec.h"
#include "preflight/coordinator/schedule.h"
#include "preflight/judge/judge.h"
#include "preflight/judge/retest_candidates.h"
#include "preflight/task/host_facts.h"
#include "tests/preflight/crowd/answers.h"
#include "tests/preflight/crowd/network.h"

namespace {

using namespace chokepoint;
using namespace chokepoint::preflight;

constexpr double kPort = 10'000;
constexpr double kFault = kPort / 10;
constexpr double kLoss = 1;
constexpr HostIndex kLeaf = 32;
constexpr double kLossRate = 10e6;  // of the quiet rounds
constexpr double kPacketBits = 8 * 1472;

coordinator::Pair ordered(HostIndex a, HostIndex b) { return {std::min(a, b), std::max(a, b)}; }

struct Case {
  std::string fault;
  std::string effort;
  HostIndex hosts;
  HostIndex paths;
};

bool is_trunk(const Case& of) { return of.fault == "trunk" || of.fault == "lossy"; }

struct Trial {
  Case of;
  crowd::Network network;
  std::pair<HostIndex, HostIndex> culprit;
  std::uint64_t seed;
};

struct Outcome {
  std::size_t met = 0;  // ways that went over what is at fault
  bool found = false;
  bool accuses_others = false;
};

Trial make_trial(const Case& of, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t most) { return static_cast<HostIndex>(random() % most); };
  Trial trial{.of = of, .network = {}, .culprit = {}, .seed = random()};
  trial.network.port_mbps = kPort;
  trial.network.group = std::min(kLeaf, of.hosts / 2);
  trial.network.paths = of.paths;
  const crowd::Fault slow{.mbps = kFault};
  const crowd::Fault lossy{.loss_percent = kLoss};
  const HostIndex one = below(of.hosts);
  if (of.fault == "cable") {
    trial.culprit = {one, one};
    trial.network.hosts[one] = slow;
  } else if (is_trunk(of)) {
    trial.culprit = {one / trial.network.group, below(of.paths)};
    trial.network.trunks[trial.culprit] = of.fault == "lossy" ? lossy : slow;
  } else {
    const HostIndex other = (one + 1 + below(of.hosts - 1)) % of.hosts;
    trial.culprit = ordered(one, other);
    trial.network.paths_between[{one, other}] = slow;
    trial.network.paths_between[{other, one}] = slow;
  }
  return trial;
}

double rate(const Trial& trial, HostIndex from, HostIndex to, std::uint32_t flow) {
  return 0.94 * crowd::path_figures(trial.network, from, to, 1, flow).mbps;
}

// The quiet test and the bulk test of one way, each a flow of its own.
class Tester {
 public:
  Tester(const Trial& trial, const coordinator::Effort& effort)
      : trial_(trial),
        packets_(static_cast<std::uint32_t>(kLossRate / kPacketBits *
                                            std::chrono::duration<double>(effort.loss).count())),
        random_(trial.seed) {}

  void test(HostIndex from, HostIndex to, PathResult& path, Outcome& outcome) {
    const double loss =
        crowd::path_figures(trial_.network, from, to, 1, ++flow_).loss_percent / 100;
    path.packets = packets_;
    path.lost = loss > 0 ? std::binomial_distribution<std::uint32_t>(packets_, loss)(random_) : 0;
    path.tcp_mbps = static_cast<float>(rate(trial_, from, to, ++flow_));
    path.mtu_bytes = 1500;
    outcome.met += loss > 0 || *path.tcp_mbps < kPort / 2 ? 1 : 0;
  }

 private:
  const Trial& trial_;
  std::uint32_t packets_;
  std::mt19937_64 random_;
  std::uint32_t flow_ = 0;
};

Measured measure(const Trial& trial, const coordinator::Schedule& schedule, Outcome& outcome) {
  Measured measured{.plan = trial.of.effort, .is_sampled = schedule.is_sampled()};
  for (HostIndex host = 0; host < trial.of.hosts; ++host) {
    measured.hosts.push_back({.name = crowd::name_of_host(host),
                              .address = crowd::address_of(host),
                              .facts = json::from_json<HostFacts>(
                                           crowd::ready_body(trial.network, host)["facts"], "facts")
                                           .value()});
  }
  Tester tester(trial, schedule.effort);
  for (std::size_t number = 0; number < schedule.rounds; ++number) {
    for (const auto& [a, b] : schedule.round(number)) {
      PairResult pair{.a = a, .b = b, .rtt_ms = 0.1F, .rtt_p99_ms = 0.2F, .rtt_min_ms = 0.1F};
      tester.test(a, b, pair.there, outcome);
      tester.test(b, a, pair.back, outcome);
      measured.pairs.push_back(pair);
    }
  }
  std::ranges::sort(measured.pairs, {},
                    [](const PairResult& one) { return std::pair(one.a, one.b); });
  return measured;
}

// As whoever leads a preflight does it: over another path, as another connection's hash has it.
void test_again(const Trial& trial, Measured& measured, std::size_t most) {
  std::uint32_t flow = 1U << 30U;
  for (const auto& [from, to] : suspects(measured, Limits{}, most)) {
    const coordinator::Pair wanted = ordered(from, to);
    const auto pair = std::ranges::lower_bound(
        measured.pairs, wanted, {}, [](const PairResult& one) { return std::pair(one.a, one.b); });
    (pair->a == from ? pair->there : pair->back).alone_mbps =
        static_cast<float>(rate(trial, from, to, ++flow));
  }
}

bool names(const Trial& trial, const Finding& finding) {
  const auto& [first, second] = trial.culprit;
  if (trial.of.fault == "cable") {
    return finding.place == Place::Port && finding.hosts == std::vector{first};
  }
  return std::ranges::any_of(finding.paths, [&](const auto& path) {
    return is_trunk(trial.of) ? path.first / trial.network.group == first ||
                                    path.second / trial.network.group == first
                              : ordered(path.first, path.second) == trial.culprit;
  });
}

Outcome play(const Trial& trial, const coordinator::Effort& effort) {
  Outcome outcome;
  const coordinator::Schedule schedule =
      coordinator::schedule(effort, trial.of.hosts, trial.seed, coordinator::Milliseconds(0));
  Measured measured = measure(trial, schedule, outcome);
  test_again(trial, measured, effort.most_suspects);
  for (const Finding& finding : judge(measured, Limits{}, nullptr).findings) {
    if (finding.check.status < checks::Status::Warning || finding.paths.empty()) {
      continue;
    }
    const bool is_it = names(trial, finding);
    outcome.found = outcome.found || is_it;
    outcome.accuses_others = outcome.accuses_others || !is_it;
  }
  return outcome;
}

void study(const Case& of, std::size_t trials) {
  const coordinator::Effort effort = coordinator::effort_named(of.effort).value();
  const auto start = std::chrono::steady_clock::now();
  std::size_t found = 0;
  std::size_t met = 0;
  std::size_t others = 0;
  std::size_t paths = 0;
  for (std::size_t number = 0; number < trials; ++number) {
    const Outcome outcome = play(make_trial(of, number + 1), effort);
    found += outcome.found ? 1 : 0;
    met += outcome.met > 0 ? 1 : 0;
    others += outcome.accuses_others ? 1 : 0;
    paths += outcome.met;
  }
  const coordinator::Schedule schedule =
      coordinator::schedule(effort, of.hosts, 1, coordinator::Milliseconds(0));
  const double each = static_cast<double>(trials);
  fmt::print(
      R"({{"fault":"{}","plan":"{}","hosts":{},"paths":{},"rounds":{},"of_rounds":{},"trials":{},)"
      R"("met_percent":{:.1f},"found_percent":{:.1f},"others_percent":{:.1f},"ways_met":{:.1f},)"
      R"("planned_s":{:.0f},"trial_s":{:.3f}}})"
      "\n",
      of.fault, of.effort, of.hosts, of.paths, schedule.rounds, schedule.all_rounds, trials,
      100 * static_cast<double>(met) / each, 100 * static_cast<double>(found) / each,
      100 * static_cast<double>(others) / each, static_cast<double>(paths) / each,
      std::chrono::duration<double>(coordinator::estimate(schedule)).count(),
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / each);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t trials = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 300;
  std::vector<HostIndex> sizes;
  for (int i = 2; i < count; ++i) {
    sizes.push_back(static_cast<HostIndex>(std::strtoul(arguments[i], nullptr, 10)));
  }
  if (sizes.empty()) {
    sizes = {64, 256, 1000, 4096};
  }
  for (const std::string effort : {"default", "quick"}) {
    for (const HostIndex hosts : sizes) {
      const std::size_t some = std::max<std::size_t>(1, hosts > 1000 ? trials / 10 : trials);
      study({"cable", effort, hosts, 1}, some);
      for (const HostIndex paths : {4U, 16U, 64U}) {
        study({"trunk", effort, hosts, paths}, some);
        study({"lossy", effort, hosts, paths}, some);
      }
      study({"pair", effort, hosts, 1}, some);
    }
  }
}
