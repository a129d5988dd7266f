#include "probe/commands/paths_page.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/cli/table.h"
#include "base/math/units.h"
#include "probe/paths/hops.h"

namespace chokepoint::probe {
namespace {

using documents::Direction;
using documents::FlowFault;
using documents::PathsFinding;
using documents::ProbePaths;

std::string paths_towards(const ProbePaths& shown, Direction direction) {
  return (direction == Direction::Send ? "to " : "from ") + shown.peer.host;
}

std::string two_digit_percent(double percent) { return fmt::format("{:.2g} %", percent); }

std::string flow_rate_text(double mbps) { return math::format_rate(mbps * math::kMega); }

struct NamedMembers {
  std::string text = {};
  bool is_one = true;
};

// By the routers where these differ between the flows, else by the share of the flows.
NamedMembers members_text(const ProbePaths& shown, const PathsFinding& finding) {
  if (finding.hop && shown.paths.by_hops) {
    std::vector<std::optional<documents::FlowHops>> hops;
    for (const documents::PathsFlow& flow : shown.flows) {
      if (std::ranges::find(finding.source_ports, flow.source_port) != finding.source_ports.end()) {
        hops.push_back(flow.hops);
      }
    }
    const std::size_t bad = paths::paths_by_hops(hops).value_or(1);
    return {.text = fmt::format("{} of {} paths", bad, *shown.paths.by_hops), .is_one = bad == 1};
  }
  if (finding.one_of_members) {
    return {.text = fmt::format("about 1 of {} members", *finding.one_of_members)};
  }
  return {.text = "most members", .is_one = false};
}

std::string trouble_of(const PathsFinding& finding, bool is_one) {
  switch (finding.kind) {
    case FlowFault::Loss:
      return fmt::format("{} {}, the others {}", is_one ? "loses" : "lose",
                         two_digit_percent(*finding.loss_percent),
                         two_digit_percent(*finding.others_loss_percent));
    case FlowFault::Rate:
      return fmt::format("{} {}, the others {}", is_one ? "carries" : "carry",
                         flow_rate_text(*finding.rate_mbps),
                         flow_rate_text(*finding.others_rate_mbps));
    case FlowFault::Delay:
      break;
  }
  return fmt::format("{} {} longer", is_one ? "takes" : "take", math::format_ms(*finding.later_ms));
}

std::string member_sentence(const ProbePaths& shown, const PathsFinding& finding) {
  const NamedMembers members = members_text(shown, finding);
  return fmt::format("{}: {} {}; {} of {} flows ({:.0f} to {:.0f} % of all) take {}",
                     paths_towards(shown, finding.direction), members.text,
                     trouble_of(finding, members.is_one), finding.flows, shown.flows.size(),
                     finding.share_percent.low, finding.share_percent.high,
                     members.is_one ? "it" : "them");
}

void print_source_ports(const cli::Context& context, const std::string& title,
                        const std::vector<std::uint16_t>& ports) {
  constexpr std::size_t kMaxListedPorts = 16;
  const auto shown = std::span(ports).first(std::min(ports.size(), kMaxListedPorts));
  fmt::print(context.out, "  {}: {}{}\n", title, fmt::join(shown, ", "),
             ports.size() > kMaxListedPorts
                 ? fmt::format(" and {} more", ports.size() - kMaxListedPorts)
                 : "");
}

void print_member(const cli::Context& context, const ProbePaths& shown,
                  const PathsFinding& finding) {
  fmt::print(context.out, "{}\n", member_sentence(shown, finding));
  print_source_ports(context, "source ports", finding.source_ports);
  if (!finding.unclear_source_ports.empty()) {
    print_source_ports(context, "not clear", finding.unclear_source_ports);
  }
  if (finding.hop) {
    fmt::print(context.out, "  they pass {} (hop {}), which none of the others was seen to\n",
               finding.hop->address.text(), finding.hop->ttl);
  }
}

std::string paths_text(const documents::PathsSeen& paths) {
  if (paths.by_hops) {
    return fmt::format("{} path{} seen, by the routers that answered to {} flows.", *paths.by_hops,
                       *paths.by_hops == 1 ? "" : "s", paths.traced_flows);
  }
  if (paths.at_least > 1) {
    return fmt::format("At least {} paths; no router distinguishes them.", paths.at_least);
  }
  return "One path seen; members of a bundle that do not differ count as one.";
}

void print_loss(const cli::Context& context, const ProbePaths& shown) {
  using cli::Align;
  cli::Table table(
      {{""},
       {"packets", Align::Right},
       {"lost", Align::Right},
       {"loss", Align::Right},
       {fmt::format("found if 1 of {} members loses", shown.expected->members), Align::Right}});
  for (const auto& [direction, counts] :
       {std::pair(Direction::Send, shown.send), std::pair(Direction::Receive, shown.receive)}) {
    table.add({paths_towards(shown, direction), std::to_string(counts->sent),
               std::to_string(counts->lost),
               counts->loss_percent ? fmt::format("{:.3g} %", *counts->loss_percent) : "-",
               counts->detectable_loss_percent ? two_digit_percent(*counts->detectable_loss_percent)
                                               : "-"});
  }
  table.print(context.out, context.out_terminal);
}

void print_rates(const cli::Context& context, const ProbePaths& shown) {
  std::vector<double> mbps;
  std::uint64_t retransmits = 0;
  for (const documents::PathsFlow& flow : shown.flows) {
    retransmits += flow.retransmits.value_or(0);
    if (flow.rate_mbps) {
      mbps.push_back(*flow.rate_mbps);
    }
  }
  const math::Distribution rates = math::distribution(mbps);
  fmt::print(context.out, "rate of a flow alone: {} to {}, median {}; {} retransmitted\n",
             flow_rate_text(rates.min), flow_rate_text(rates.max), flow_rate_text(rates.median),
             retransmits);
}

void print_paths_verdict(const cli::Context& context, const ProbePaths& shown) {
  for (const PathsFinding& finding : shown.findings) {
    print_member(context, shown, finding);
  }
  if (shown.verdict == documents::FlowsVerdict::Alike) {
    fmt::print(context.out, "All {} flows are alike.\n", shown.flows.size());
  } else if (shown.verdict == documents::FlowsVerdict::Unknown) {
    fmt::print(context.out, "Unknown: {}; give more {}.\n", shown.unknown_because,
               shown.send ? "--packets or --flows" : "--time");
  }
}

}  // namespace

void print_page(const cli::Context& context, const ProbePaths& shown) {
  const bool is_tcp = shown.protocol == documents::ProbeProtocol::Tcp;
  fmt::print(
      context.out, "{} flows {}, {}, in {}\n\n", shown.flows.size(),
      paths_towards(shown, Direction::Send),
      is_tcp ? std::string("one after the other, twice")
             : fmt::format("{} packets each and their answers", shown.packets_per_flow.value_or(0)),
      math::format_duration(std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::duration<double>(shown.duration_s))));
  if (is_tcp) {
    print_rates(context, shown);
  } else {
    print_loss(context, shown);
  }
  fmt::print(context.out, "\n");
  print_paths_verdict(context, shown);
  fmt::print(context.out, "{}\n", paths_text(shown.paths));
  for (const auto& [direction, counts] :
       {std::pair(Direction::Send, shown.send), std::pair(Direction::Receive, shown.receive)}) {
    if (counts && counts->dropped_by_sockets > 0) {
      fmt::print(context.out,
                 "{} packets {} were dropped by the receiver's own sockets: it was "
                 "too busy for this --rate.\n",
                 counts->dropped_by_sockets, paths_towards(shown, direction));
    }
  }
  if (shown.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

}  // namespace chokepoint::probe
