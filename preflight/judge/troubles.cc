#include "preflight/judge/troubles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "preflight/judge/blame.h"
#include "preflight/judge/shell.h"
#include "preflight/judge/words.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

using Failures = std::map<std::uint64_t, std::vector<const Trouble*>>;

// Of pairs whose hosts are both there: one that went is a finding of its own.
Failures failures_of(const ClusterInput& scene) {
  Failures failures;
  for (const Trouble& trouble : scene.measured().troubles) {
    if (trouble.a < scene.hosts() && trouble.b < scene.hosts() && trouble.a != trouble.b &&
        scene.is_present(trouble.a) && scene.is_present(trouble.b)) {
      failures[pair_key(trouble.a, trouble.b)].push_back(&trouble);
    }
  }
  return failures;
}

// A pair that was tested stands as a way each; what failed need not be among the pairs at all.
std::vector<Tested> tested_in(const ClusterInput& scene, const Failures& failures) {
  std::vector<Tested> tested;
  const auto add = [&](HostIndex a, HostIndex b, double lost) {
    tested.push_back({0, a, b, 1, lost});
    tested.push_back({0, b, a, 1, lost});
  };
  std::set<std::uint64_t> seen;
  for (std::size_t index = 0; index < scene.ways().size(); index += 2) {
    const Way& way = scene.ways()[index];
    const std::uint64_t key = pair_key(way.from, way.to);
    seen.insert(key);
    add(way.from, way.to, failures.contains(key) ? 1.0 : 0.0);
  }
  for (const auto& [key, troubles] : failures) {
    if (!seen.contains(key)) {
      add(troubles[0]->a, troubles[0]->b, 1);
    }
  }
  for (WayIndex index = 0; index < tested.size(); ++index) {
    tested[index].way = index;
  }
  return tested;
}

// The tests as users know them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kCommands{
    {{"latency", "probe latency"},
     {"loss", "probe udp"},
     {"path", "probe path"},
     {"tcp", "probe tcp"},
     {"rdma_bandwidth", "rdma write bw"},
     {"rdma_latency", "rdma write lat"}}};

std::string_view command_for(std::string_view test) {
  const auto* at =
      std::ranges::find(kCommands, test, &std::pair<std::string_view, std::string_view>::first);
  return at == kCommands.end() ? "probe path" : at->second;
}

std::string tests_of(const Failures& failures, const std::vector<Tested>& tested,
                     const Blame& blame) {
  std::set<std::string> tests;
  for (const WayIndex way : blame.ways) {
    for (const Trouble* trouble : failures.at(pair_key(tested[way].from, tested[way].to))) {
      tests.insert(trouble->test);
    }
  }
  std::string text;
  for (const std::string& test : tests) {
    text += (text.empty() ? "" : ", ") + std::string(command_for(test));
  }
  return text;
}

void report(JudgeContext& desk, const Failures& failures, const std::vector<Tested>& tested,
            const Blame& blame) {
  const Tested& first = tested[blame.ways[0]];
  const Trouble& trouble = *failures.at(pair_key(first.from, first.to))[0];
  Blame told = blame;
  told.ways.clear();
  Finding finding = finding_of(desk.scene, told, "test.failed", Status::Critical);
  finding.place = blame.place == Place::Port ? Place::Host : blame.place;
  finding.check.found = fmt::format("{} failed between {}", tests_of(failures, tested, blame),
                                    counted((blame.ways.size() + 1) / 2, "pair", "pairs"));
  finding.check.wanted = "a result";
  finding.check.why = describe(trouble.error);
  finding.check.next_step =
      with_note(test_by_hand(desk.scene, trouble.a, trouble.b, command_for(trouble.test)),
                "look for a firewall between them");
  for (const WayIndex way : blame.ways) {
    finding.ways.emplace_back(tested[way].from, tested[way].to);
  }
  desk.findings.push_back(std::move(finding));
}

void judge_family(JudgeContext& desk, std::string_view name, FamilyState PairResult::* state) {
  std::vector<Tested> tested;
  for (WayIndex index = 0; index < desk.scene.ways().size(); ++index) {
    const Way& way = desk.scene.ways()[index];
    const FamilyState found = way.pair->*state;
    if (found == FamilyState::Works || found == FamilyState::Fails) {
      tested.push_back({index, way.from, way.to, 1, found == FamilyState::Fails ? 1.0 : 0.0});
    }
  }
  for (const Blame& one : blame(desk.scene.hosts(), tested)) {
    const Way& way = desk.scene.ways()[one.ways[0]];
    Finding finding = finding_of(desk.scene, one, "link.families", Status::Warning);
    finding.check.found = fmt::format("{} does not carry between {}", name,
                                      counted(one.ways.size() / 2, "pair", "pairs"));
    finding.check.wanted = "every family that both hosts have an address of";
    finding.check.why = "programs that try it first lose time, or fail where they do not fall back";
    finding.check.next_step = test_by_hand(desk.scene, way.from, way.to, "probe path") +
                              "  # look at firewalls and routes of " + std::string(name);
    desk.findings.push_back(std::move(finding));
  }
}

}  // namespace

void judge_troubles(JudgeContext& desk) {
  const Failures failures = failures_of(desk.scene);
  if (failures.empty()) {
    return;
  }
  const std::vector<Tested> tested = tested_in(desk.scene, failures);
  for (const Blame& one : blame(desk.scene.hosts(), tested)) {
    report(desk, failures, tested, one);
  }
}

void judge_families(JudgeContext& desk) {
  judge_family(desk, "IPv4", &PairResult::ipv4);
  judge_family(desk, "IPv6", &PairResult::ipv6);
}

}  // namespace chokepoint::preflight
