#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "preflight/judge/fault_location.h"
#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

std::string percent_words(const Figure& percent) {
  return fmt::format("{:.2g} %", percent.value_or(0));
}

std::string fault_words(const BadMember& bad) {
  switch (bad.fault) {
    case MemberFault::Loss:
      return fmt::format("loses {}, the others {}", percent_words(bad.loss_percent),
                         percent_words(bad.others_loss_percent));
    case MemberFault::Rate:
      return fmt::format("carries {}, the others {}", rate_words(bad.mbps.value_or(0)),
                         rate_words(bad.others_mbps.value_or(0)));
    case MemberFault::Delay:
      break;
  }
  return fmt::format("takes {:.3g} ms longer", bad.later_ms.value_or(0));
}

Status status_of(const Limits& limits, const BadMember& bad) {
  switch (bad.fault) {
    case MemberFault::Loss:
      return bad.loss_percent.value_or(0) - bad.others_loss_percent.value_or(0) >=
                     limits.loss_critical_percent
                 ? Status::Critical
                 : Status::Warning;
    case MemberFault::Rate:
      return grade_of(limits, bad.mbps.value_or(0), bad.others_mbps.value_or(0));
    case MemberFault::Delay:
      break;
  }
  return Status::Info;
}

// "source ports 40001, 40005 and 11 more of gpu0"
std::string port_words(const ClusterInput& input, HostIndex host, const BadMember& bad) {
  constexpr std::size_t kNamed = 16;
  const auto named = std::span(bad.ports).first(std::min(bad.ports.size(), kNamed));
  return fmt::format(
      "source ports {}{} of {}", fmt::join(named, ", "),
      bad.ports.size() > kNamed ? fmt::format(" and {} more", bad.ports.size() - kNamed) : "",
      input.name(host));
}

std::string found_words(const ClusterInput& input, const BundleResult& bundle,
                        const BadMember& bad) {
  const std::string members =
      bad.one_of ? fmt::format("about 1 of {} members", *bad.one_of) : "a part of the members";
  const std::string router = bad.router.empty() ? "" : fmt::format(", at {},", bad.router);
  return fmt::format("{}{} {}; {} of {} flows take it: {}", members, router, fault_words(bad),
                     bad.flows, bad.of_flows, port_words(input, bundle.asked, bad));
}

std::optional<PathIndex> path_between(const ClusterInput& input, HostIndex from, HostIndex to) {
  const auto at = std::ranges::find_if(
      input.paths(), [&](const DirectedPath& path) { return path.from == from && path.to == to; });
  return at == input.paths().end()
             ? std::nullopt
             : std::optional(static_cast<PathIndex>(at - input.paths().begin()));
}

std::string_view test_of(const BadMember& bad) {
  return bad.fault == MemberFault::Rate ? "probe paths --protocol tcp" : "probe paths";
}

// The finding of each member that a router is known of, by its place among the context's: flows of
// several pairs may take it.
using FindingsOfMembers = std::map<std::pair<MemberFault, std::string>, std::size_t>;

void report(JudgeContext& context, const BundleResult& bundle, const BadMember& bad, PathIndex path,
            FindingsOfMembers& known) {
  const FaultLocation location{
      .place = Place::DirectedPath, .hosts = {bad.from, bad.to}, .paths = {path}};
  const Status status = status_of(context.input.limits(), bad);
  const Evidence evidence{
      .what = fmt::format("{}: {}", words_for(context.input, context.input.paths()[path]),
                          fault_words(bad)),
      .value = static_cast<double>(bad.flows),
      .unit = fmt::format("of {} flows", bad.of_flows),
      .from = std::string(test_of(bad))};
  if (!bad.router.empty()) {
    const auto [same, is_new] = known.try_emplace({bad.fault, bad.router}, context.findings.size());
    if (!is_new) {
      Finding& finding = context.findings[same->second];
      finding.check.status = std::max(finding.check.status, status);
      add_paths(context.input, location.paths, finding);
      finding.evidence.push_back(evidence);
      return;
    }
  }
  Finding finding = finding_of(context.input, location, "link.member", status);
  finding.check.found = found_words(context.input, bundle, bad);
  finding.check.wanted = "parallel links that are alike";
  finding.check.why =
      "a switch, a router or a bond puts each flow on one of several links by its addresses and "
      "ports: tests of this pair pass or fail by the ports that they happen to have";
  finding.check.next_step = with_note(
      test_by_hand(context.input, bundle.asked, bundle.peer, test_of(bad)),
      bad.router.empty() ? "look at the counters of each link of the bundle between the two"
                         : fmt::format("look at the counters of the links to {}", bad.router));
  finding.evidence.push_back(evidence);
  context.add(std::move(finding));
}

}  // namespace

bool has_lossy_member(const ClusterInput& input, const DirectedPath& path) {
  return std::ranges::any_of(input.measured().bundles, [&](const BundleResult& bundle) {
    return std::ranges::any_of(bundle.bad, [&](const BadMember& bad) {
      return bad.fault == MemberFault::Loss && bad.from == path.from && bad.to == path.to;
    });
  });
}

void judge_members(JudgeContext& context) {
  std::size_t alike = 0;
  FindingsOfMembers known;
  for (const BundleResult& bundle : context.input.measured().bundles) {
    alike += bundle.bad.empty() && bundle.verdict == "alike" ? 1 : 0;
    for (const BadMember& bad : bundle.bad) {
      if (const auto path = path_between(context.input, bad.from, bad.to)) {
        report(context, bundle, bad, *path, known);
        if (bad.fault != MemberFault::Delay) {
          context.explain({*path});
        }
      }
    }
  }
  if (alike > 0 && !context.has("link.member", Status::Info)) {
    context.pass("link.member",
                 fmt::format("many flows are alike between {}", counted(alike, "pair", "pairs")));
  }
}

}  // namespace chokepoint::preflight
