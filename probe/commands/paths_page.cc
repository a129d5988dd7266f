#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/cli/table.h"
#include "base/control/bodies.h"
#include "base/math/groups.h"
#include "base/math/units.h"
#include "probe/commands/reports.h"
#include "probe/paths/hops.h"

namespace chokepoint::probe {
namespace {

using cli::Json;
using control::if_measured;
using control::or_null;
using math::kPercent;
using paths::Direction;

std::optional<double> in_percent(const std::optional<double>& share) {
  return share ? std::optional(*share * kPercent) : std::nullopt;
}

std::optional<double> in_mbps(const std::optional<double>& bits_per_s) {
  return bits_per_s ? std::optional(*bits_per_s / math::kMega) : std::nullopt;
}

std::optional<double> in_ms(const std::optional<double>& ns) {
  return ns ? std::optional(*ns / math::kNsPerMs) : std::nullopt;
}

std::optional<double> way_loss_percent(const paths::DirectionSweep& way) {
  return way.sent == 0 ? std::nullopt
                       : std::optional(kPercent * static_cast<double>(way.lost) /
                                       static_cast<double>(way.sent));
}

std::vector<std::uint16_t> ports_of(const paths::Outcome& outcome,
                                    const std::vector<std::size_t>& flows) {
  std::vector<std::uint16_t> ports;
  for (const std::size_t flow : flows) {
    ports.push_back(outcome.flows[flow].source_port);
  }
  return ports;
}

Json paths_way_body(const paths::DirectionSweep& way) {
  return {{"sent", way.sent},
          {"lost", way.lost},
          {"loss_percent", or_null(way_loss_percent(way))},
          {"dropped_by_sockets", way.dropped},
          {"detectable_loss_percent", or_null(in_percent(way.detectable_loss))}};
}

Json member_body(const paths::Outcome& outcome, const paths::Finding& finding) {
  Json body{{"kind", name_of(finding.kind)},
            {"direction", name_of(finding.direction)},
            {"p_value", finding.p},
            {"flows", finding.flows.size()},
            {"share_percent",
             {{"likely", finding.share.likely * kPercent},
              {"low", finding.share.low * kPercent},
              {"high", finding.share.high * kPercent}}},
            {"one_of_members", or_null(math::one_of(finding.share))},
            {"loss_percent", or_null(in_percent(finding.loss))},
            {"others_loss_percent", or_null(in_percent(finding.others_loss))},
            {"later_ms", or_null(in_ms(finding.later_ns))},
            {"rate_mbps", or_null(in_mbps(finding.bits_per_s))},
            {"others_rate_mbps", or_null(in_mbps(finding.others_bits_per_s))},
            {"source_ports", ports_of(outcome, finding.flows)},
            {"unclear_source_ports", ports_of(outcome, finding.unclear)},
            {"hop", nullptr}};
  if (finding.place) {
    body["hop"] = {{"ttl", finding.place->ttl}, {"address", finding.place->address.text()}};
  }
  return body;
}

Json router_list(const std::optional<paths::Hops>& hops) {
  if (!hops) {
    return {};
  }
  Json list = Json::array();
  for (const std::optional<net::Address>& hop : *hops) {
    list.push_back(hop ? Json(hop->text()) : Json());
  }
  return list;
}

Json swept_flow_body(const paths::Flow& flow, bool tcp) {
  const auto rtt_ms = if_measured(flow.rtt_ms);
  const auto of_udp = [&](std::uint64_t count) { return tcp ? Json() : Json(count); };
  return {{"source_port", flow.source_port},
          {"sent", of_udp(flow.sent)},
          {"lost_there", of_udp(flow.lost_there)},
          {"answered", of_udp(flow.answered)},
          {"lost_back", of_udp(flow.lost_back)},
          {"rtt_ms", rtt_ms ? json::to_json(*rtt_ms) : Json()},
          {"later_there_ms", or_null(flow.later_there_ms)},
          {"later_back_ms", or_null(flow.later_back_ms)},
          {"hops", router_list(flow.hops)},
          {"rate_mbps", or_null(in_mbps(flow.bits_per_s))},
          {"retransmits", tcp ? Json(flow.retransmits) : Json()},
          {"min_rtt_ms", or_null(flow.min_rtt_ms)}};
}

std::string paths_towards(const PathsShown& shown, Direction direction) {
  return (direction == Direction::Send ? "to " : "from ") + shown.peer;
}

std::string two_digit_percent(double share) { return fmt::format("{:.2g} %", share * kPercent); }

struct NamedMembers {
  std::string text = {};
  bool is_one = true;
};

// By the routers where they tell the flows apart, else by the share of the flows.
NamedMembers members_text(const paths::Outcome& outcome, const paths::Finding& finding) {
  if (finding.place && outcome.paths.by_hops) {
    std::vector<std::optional<paths::Hops>> hops;
    for (const std::size_t flow : finding.flows) {
      hops.push_back(outcome.flows[flow].hops);
    }
    const std::size_t bad = paths::paths_by_hops(hops).value_or(1);
    return {.text = fmt::format("{} of {} paths", bad, *outcome.paths.by_hops), .is_one = bad == 1};
  }
  if (const std::optional<long> members = math::one_of(finding.share)) {
    return {.text = fmt::format("about 1 of {} members", *members)};
  }
  return {.text = "most members", .is_one = false};
}

std::string trouble_of(const paths::Finding& finding, bool is_one) {
  switch (finding.kind) {
    case paths::FindingKind::Loss:
      return fmt::format("{} {}, the others {}", is_one ? "loses" : "lose",
                         two_digit_percent(*finding.loss), two_digit_percent(*finding.others_loss));
    case paths::FindingKind::Rate:
      return fmt::format("{} {}, the others {}", is_one ? "carries" : "carry",
                         math::format_rate(*finding.bits_per_s),
                         math::format_rate(*finding.others_bits_per_s));
    case paths::FindingKind::Delay:
      break;
  }
  return fmt::format("{} {} longer", is_one ? "takes" : "take",
                     math::format_ms(*finding.later_ns / math::kNsPerMs));
}

std::string member_sentence(const PathsShown& shown, const paths::Finding& finding) {
  const NamedMembers members = members_text(shown.outcome, finding);
  return fmt::format("{}: {} {}; {} of {} flows ({:.0f} to {:.0f} % of all) take {}",
                     paths_towards(shown, finding.direction), members.text,
                     trouble_of(finding, members.is_one), finding.flows.size(),
                     shown.outcome.flows.size(), finding.share.low * kPercent,
                     finding.share.high * kPercent, members.is_one ? "it" : "them");
}

void print_source_ports(const cli::Context& context, const std::string& title,
                        const std::vector<std::uint16_t>& ports) {
  constexpr std::size_t kMost = 16;
  const auto shown = std::span(ports).first(std::min(ports.size(), kMost));
  fmt::print(context.out, "  {}: {}{}\n", title, fmt::join(shown, ", "),
             ports.size() > kMost ? fmt::format(" and {} more", ports.size() - kMost) : "");
}

void print_member(const cli::Context& context, const PathsShown& shown,
                  const paths::Finding& finding) {
  fmt::print(context.out, "{}\n", member_sentence(shown, finding));
  print_source_ports(context, "source ports", ports_of(shown.outcome, finding.flows));
  if (!finding.unclear.empty()) {
    print_source_ports(context, "not clear", ports_of(shown.outcome, finding.unclear));
  }
  if (finding.place) {
    fmt::print(context.out, "  they pass {} (hop {}), which none of the others was seen to\n",
               finding.place->address.text(), finding.place->ttl);
  }
}

std::string paths_text(const paths::Outcome& outcome) {
  const paths::Paths& paths = outcome.paths;
  if (paths.by_hops) {
    return fmt::format("{} path{} seen, by the routers that answered to {} flows.", *paths.by_hops,
                       *paths.by_hops == 1 ? "" : "s", paths.traced);
  }
  if (paths.at_least > 1) {
    return fmt::format("At least {} paths; no router told them apart.", paths.at_least);
  }
  return "One path seen; members of a bundle that do not differ look like one.";
}

void print_paths_ways(const cli::Context& context, const PathsShown& shown) {
  using cli::Align;
  cli::Table table(
      {{""},
       {"packets", Align::Right},
       {"lost", Align::Right},
       {"loss", Align::Right},
       {fmt::format("found if 1 of {} members loses", shown.expectation.members), Align::Right}});
  for (const Direction direction : {Direction::Send, Direction::Receive}) {
    const paths::DirectionSweep& way = shown.outcome.of(direction);
    const std::optional<double> loss = way_loss_percent(way);
    table.add({paths_towards(shown, direction), std::to_string(way.sent), std::to_string(way.lost),
               loss ? fmt::format("{:.3g} %", *loss) : "-",
               way.detectable_loss ? two_digit_percent(*way.detectable_loss) : "-"});
  }
  table.print(context.out, context.out_terminal);
}

void print_rates(const cli::Context& context, const paths::Outcome& outcome) {
  std::vector<double> mbps;
  std::uint64_t retransmits = 0;
  for (const paths::Flow& flow : outcome.flows) {
    retransmits += flow.retransmits;
    if (flow.bits_per_s) {
      mbps.push_back(*flow.bits_per_s);
    }
  }
  const math::Distribution rates = math::distribution(mbps);
  fmt::print(context.out, "rate of a flow alone: {} to {}, median {}; {} retransmitted\n",
             math::format_rate(rates.min), math::format_rate(rates.max),
             math::format_rate(rates.median), retransmits);
}

void print_paths_verdict(const cli::Context& context, const PathsShown& shown) {
  const paths::Outcome& outcome = shown.outcome;
  for (const paths::Finding& finding : outcome.findings) {
    print_member(context, shown, finding);
  }
  if (outcome.verdict == paths::Verdict::Alike) {
    fmt::print(context.out, "All {} flows are alike.\n", outcome.flows.size());
  } else if (outcome.verdict == paths::Verdict::Unknown) {
    fmt::print(context.out, "Unknown: {}; give more {}.\n", outcome.why,
               shown.parameters.tcp ? "--time" : "--packets or --flows");
  }
}

}  // namespace

void add_to(Json& document, const PathsShown& shown) {
  const paths::Outcome& outcome = shown.outcome;
  const bool tcp = shown.parameters.tcp;
  document["protocol"] = tcp ? "tcp" : "udp";
  document["packets_per_flow"] = tcp ? Json() : Json(shown.parameters.packets);
  document["packet_bytes"] = tcp ? Json() : Json(paths::wire_bytes(shown.family));
  document["rate_mbps"] =
      shown.parameters.bits_per_s > 0 ? Json(shown.parameters.bits_per_s / math::kMega) : Json();
  document["expected"] = tcp ? Json()
                             : Json{{"members", shown.expectation.members},
                                    {"loss_percent", shown.expectation.loss * kPercent}};
  document["duration_s"] = static_cast<double>(shown.time.count()) / math::kNsPerSecond;
  document["verdict"] = name_of(outcome.verdict);
  document["unknown_because"] = outcome.why.empty() ? Json() : Json(outcome.why);
  document["findings"] = control::list_body(
      outcome.findings, [&](const paths::Finding& each) { return member_body(outcome, each); });
  document["send"] = tcp ? Json() : paths_way_body(outcome.there);
  document["receive"] = tcp ? Json() : paths_way_body(outcome.back);
  document["paths"] = {{"at_least", outcome.paths.at_least},
                       {"by_hops", or_null(outcome.paths.by_hops)},
                       {"traced_flows", outcome.paths.traced}};
  document["flows"] = control::list_body(
      outcome.flows, [&](const paths::Flow& flow) { return swept_flow_body(flow, tcp); });
  document["interrupted"] = shown.interrupted;
}

void print_page(const cli::Context& context, const PathsShown& shown) {
  const paths::Outcome& outcome = shown.outcome;
  fmt::print(context.out, "{} flows {}, {}, in {}\n\n", outcome.flows.size(),
             paths_towards(shown, Direction::Send),
             shown.parameters.tcp
                 ? std::string("one after the other, twice")
                 : fmt::format("{} packets each and their answers", shown.parameters.packets),
             math::format_duration(shown.time));
  if (shown.parameters.tcp) {
    print_rates(context, outcome);
  } else {
    print_paths_ways(context, shown);
  }
  fmt::print(context.out, "\n");
  print_paths_verdict(context, shown);
  fmt::print(context.out, "{}\n", paths_text(outcome));
  for (const Direction direction : {Direction::Send, Direction::Receive}) {
    if (const std::uint64_t dropped = outcome.of(direction).dropped; dropped > 0) {
      fmt::print(context.out,
                 "{} packets {} were dropped by the receiver's own sockets: it was "
                 "too busy for this --rate.\n",
                 dropped, paths_towards(shown, direction));
    }
  }
  if (shown.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

}  // namespace chokepoint::probe
