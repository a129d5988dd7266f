#include "probe/commands/path_page.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>

#include "base/cli/table.h"
#include "base/math/units.h"
#include "probe/path/mtu_search.h"
#include "probe/path/trace_analysis.h"

namespace chokepoint::probe {
namespace {

using path::FamilyOutcome;
using path::Hop;
using path::Survey;

documents::PathHops hops_of(const path::Trace& trace) {
  const std::vector<path::Silence> silences = path::judge_loss(trace.hops);
  documents::PathHops hops;
  for (std::size_t i = 0; i < silences.size(); ++i) {
    const Hop& hop = trace.hops[i];
    hops.push_back(
        {.ttl = hop.ttl,
         .address = hop.address(),
         .rtt_ms = hop.median_rtt_ms(),
         .loss_percent = hop.loss_percent(),
         .sent = hop.sent,
         .answered = hop.answered,
         .addresses = hop.addresses,
         .silence = silences[i],
         .unreachable = hop.unreachable ? std::string(path::words_of(*hop.unreachable)) : ""});
  }
  return hops;
}

documents::PathMtu mtu_of(const path::MtuFinding& mtu,
                          const std::optional<path::BlackHole>& black_hole) {
  documents::PathMtu shown{.path_mtu_bytes = mtu.path_mtu_bytes,
                           .interface_mtu_bytes = mtu.interface_mtu_bytes,
                           .confirmed = mtu.confirmed,
                           .limited_by = mtu.limited_by,
                           .announced_bytes = mtu.announced_bytes,
                           .black_hole_from_bytes = mtu.black_hole_from_bytes};
  if (black_hole) {
    shown.black_hole = {.packet_bytes = black_hole->packet_bytes,
                        .last_before = black_hole->last_before.and_then(&Hop::address),
                        .first_behind = black_hole->first_behind.address()};
  }
  return shown;
}

documents::PathDirection path_direction_of(const std::optional<Survey>& survey,
                                           const std::string& why_not) {
  if (!survey) {
    return {.why_not = why_not};
  }
  const path::Trace& trace = survey->trace;
  documents::PathDirection direction{
      .trace = documents::PathTrace{.protocol = trace.protocol,
                                    .source = trace.source.address,
                                    .target = trace.target.address,
                                    .port = trace.target.port,
                                    .reached = trace.reached,
                                    .complete = trace.complete,
                                    .probed_to = trace.probed_to,
                                    .length = trace.length(),
                                    .loss_percent = path::path_loss_percent(trace)},
      .hops = hops_of(trace)};
  if (survey->mtu) {
    direction.mtu = mtu_of(*survey->mtu, survey->black_hole);
  }
  return direction;
}

documents::PathFamily family_of(const FamilyOutcome& outcome) {
  const path::FamilyFacts& facts = outcome.facts;
  documents::PathFamily family{.resolves = facts.resolves(),
                               .addresses = facts.addresses,
                               .source = facts.source,
                               .connection = facts.connection,
                               .reason = facts.reason,
                               .connect_ms = facts.connect_ms,
                               .forward = path_direction_of(outcome.forward, outcome.no_forward),
                               .reverse = path_direction_of(outcome.reverse, outcome.no_reverse),
                               .symmetry = outcome.symmetry};
  if (outcome.reverse) {
    family.udp_passes = outcome.udp_passes;
  }
  if (family.forward.mtu) {
    family.path_mtu_bytes = family.forward.mtu->path_mtu_bytes;
  }
  return family;
}

using cli::Cell;
using cli::Tint;
using path::Match;

std::string address_text(const Hop& hop) {
  const auto address = hop.address();
  if (!address) {
    return "*";
  }
  const std::size_t more = hop.addresses.size() - 1;
  return more == 0 ? address->text() : fmt::format("{} +{}", address->text(), more);
}

std::string rtt_text(const Hop& hop) {
  const std::optional<double> rtt = hop.median_rtt_ms();
  return rtt ? math::format_ms(*rtt) : "";
}

std::string loss_text(const Hop& hop) {
  const std::optional<double> loss = hop.loss_percent();
  return loss ? fmt::format("{:.0f} %", *loss) : "";
}

void add_hop(std::vector<Cell>& row, const Hop* hop) {
  if (hop == nullptr) {
    row.insert(row.end(), {Cell(""), Cell(""), Cell("")});
    return;
  }
  row.emplace_back(address_text(*hop), hop->address() ? Tint::None : Tint::Faint);
  row.emplace_back(rtt_text(*hop));
  row.emplace_back(loss_text(*hop));
}

// The family that the top of the document describes: the first in the resolver's order that
// answers, else the first that has a route.
net::Family leading_family(const PathFindings& found) {
  const auto& order = found.host.in_order;
  const auto leads = [&](auto test) {
    return std::ranges::find_if(
        order, [&](const net::Address& address) { return test(found.host.of(address.family())); });
  };
  auto first = leads([](const path::FamilyFacts& facts) { return facts.answers(); });
  if (first == order.end()) {
    first = leads([](const path::FamilyFacts& facts) { return facts.source.has_value(); });
  }
  return first == order.end() ? net::Family::Ipv4 : first->family();
}

// The hops of both ways by position: 0 is this host, which only the way back shows.
class Rows {
 public:
  explicit Rows(const FamilyOutcome& outcome) : outcome_(outcome) {
    silences_ = path::judge_loss(outcome.forward->trace.hops);
  }

  cli::Table table() const {
    std::vector<cli::Column> columns{{"hop", cli::Align::Right},
                                     {"there"},
                                     {"round trip", cli::Align::Right},
                                     {"loss", cli::Align::Right}};
    if (outcome_.reverse) {
      columns.insert(columns.end(),
                     {{"back"}, {"round trip", cli::Align::Right}, {"loss", cli::Align::Right}});
    }
    columns.push_back({""});
    cli::Table table(columns);
    for (std::size_t i = outcome_.reverse ? 0 : 1; i < count(); ++i) {
      table.add(row(i));
    }
    return table;
  }

 private:
  std::size_t count() const {
    const std::size_t there = outcome_.forward->trace.hops.size() + 1;
    return outcome_.reverse ? std::max(there, outcome_.reverse->trace.hops.size()) : there;
  }

  const Hop* there(std::size_t position) const {
    const auto& hops = outcome_.forward->trace.hops;
    return position >= 1 && position <= hops.size() ? &hops[position - 1] : nullptr;
  }

  const Hop* back(std::size_t position) const {
    const auto& hops = outcome_.reverse->trace.hops;
    return position < hops.size() ? &hops[hops.size() - 1 - position] : nullptr;
  }

  std::vector<Cell> row(std::size_t position) const {
    std::vector<Cell> row{Cell(std::to_string(position))};
    add_hop(row, there(position));
    if (outcome_.reverse) {
      add_hop(row, back(position));
    }
    row.emplace_back(note(position), Tint::Faint);
    return row;
  }

  std::string note(std::size_t position) const {
    std::vector<std::string> notes;
    if (const Hop* hop = there(position)) {
      if (hop->unreachable) {
        notes.push_back(
            fmt::format("{} {}", name_of(*hop->unreachable), path::words_of(*hop->unreachable)));
      }
      notes.emplace_back(path::words_of(silences_[position - 1]));
    }
    const auto& routers = outcome_.symmetry.routers;
    const auto router =
        std::ranges::find(routers, static_cast<int>(position), &path::RouterMatch::ttl);
    if (router != routers.end() && router->match != Match::Unknown) {
      notes.push_back(router->match == Match::Differs
                          ? "another router"
                          : fmt::format("{} router", name_of(router->match)));
    }
    std::erase(notes, "");
    return fmt::format("{}", fmt::join(notes, "; "));
  }

  const FamilyOutcome& outcome_;
  std::vector<path::Silence> silences_;
};

std::string hole_text(const path::BlackHole& hole) {
  const std::string before = hole.last_before ? address_text(*hole.last_before) : "this host";
  return fmt::format("between {} and {}", before, address_text(hole.first_behind));
}

std::string mtu_text(const Survey& survey) {
  const path::MtuFinding& mtu = *survey.mtu;
  if (!mtu.confirmed) {
    const std::string most =
        mtu.announced_bytes ? fmt::format(", at most {} bytes", *mtu.announced_bytes) : "";
    return fmt::format("not known{}: the other end confirms nothing", most);
  }
  if (!mtu.path_mtu_bytes) {
    return "not known: time ran out";
  }
  if (mtu.black_hole_from_bytes) {
    return fmt::format("{} bytes; larger packets are dropped silently{}", *mtu.path_mtu_bytes,
                       survey.black_hole ? " " + hole_text(*survey.black_hole) : "");
  }
  return mtu.limited_by
             ? fmt::format("{} bytes, says {}", *mtu.path_mtu_bytes, mtu.limited_by->text())
             : fmt::format("{} bytes, the interface's", *mtu.path_mtu_bytes);
}

void print_mtu(const cli::Context& context, std::string_view direction,
               const std::optional<Survey>& survey) {
  if (survey && survey->mtu) {
    fmt::print(context.out, "path MTU {}: {}\n", direction, mtu_text(*survey));
  }
}

void print_end(const cli::Context& context, const path::Trace& trace, std::string_view direction) {
  if (!trace.reached) {
    fmt::print(context.out,
               "the {} path was not seen to its end: no answer beyond hop {} of {} tried\n",
               direction, trace.hops.size(), trace.probed_to);
  }
}

void print_conclusions(const cli::Context& context, const FamilyOutcome& outcome) {
  print_end(context, outcome.forward->trace, "forward");
  print_mtu(context, "there", outcome.forward);
  if (!outcome.reverse) {
    fmt::print(context.out, "the reverse path is not known: {}\n", outcome.no_reverse);
    return;
  }
  print_end(context, outcome.reverse->trace, "reverse");
  print_mtu(context, "back", outcome.reverse);
  const auto& symmetric = outcome.symmetry.symmetric;
  fmt::print(context.out, "same path back: {}: {}\n",
             !symmetric   ? "unknown"
             : *symmetric ? "yes"
                          : "no",
             outcome.symmetry.why);
  if (!outcome.udp_passes) {
    context.out << "UDP does not pass between the two: the routers were found by TCP\n";
  }
}

std::string connection_text(const path::FamilyFacts& facts, std::uint16_t port) {
  if (facts.connect_ms) {
    return fmt::format("TCP port {}: {} after {}", port, name_of(facts.connection),
                       math::format_ms(*facts.connect_ms));
  }
  return fmt::format("TCP port {}: {}", port, name_of(facts.connection));
}

void print_family(const cli::Context& context, const PathFindings& found, net::Family family) {
  const FamilyOutcome& outcome = found.of(family);
  if (!outcome.facts.resolves() && (found.host.is_address || found.host.only)) {
    return;
  }
  const std::string title = family == net::Family::Ipv4 ? "IPv4" : "IPv6";
  const std::string bold = cli::tinted(title, Tint::Bold, context.out_terminal);
  if (!outcome.forward) {
    fmt::print(context.out, "{}  {}\n\n", bold, outcome.no_forward);
    return;
  }
  const path::Trace& trace = outcome.forward->trace;
  fmt::print(context.out, "{}  {} to {}, by {}; {}\n", bold, trace.source.address.text(),
             trace.target.address.text(), name_of(trace.protocol),
             connection_text(outcome.facts, found.host.port));
  Rows(outcome).table().print(context.out, context.out_terminal);
  print_conclusions(context, outcome);
  context.out << '\n';
}

}  // namespace

documents::ProbePath document_of(const PathFindings& found) {
  const net::Family family = leading_family(found);
  documents::ProbePath document{
      .peer = {.host = found.host.name, .family = family, .port = found.host.port},
      .protocol = found.parameters.protocol,
      .reverse_unknown_because = found.of(family).no_reverse,
      .families = {.ipv4 = family_of(found.ipv4), .ipv6 = family_of(found.ipv6)},
      .dual_stack_finding = found.dual_stack_finding};
  const documents::PathFamily& leading = document.families.of(family);
  if (leading.resolves) {
    document.peer.address = leading.addresses.front();
  }
  document.forward = leading.forward.hops;
  document.reverse = leading.reverse.hops;
  document.symmetric = leading.symmetry.symmetric;
  document.path_mtu_bytes = leading.path_mtu_bytes;
  return document;
}

void print_page(const cli::Context& context, const PathFindings& found) {
  for (const net::Family family : {net::Family::Ipv4, net::Family::Ipv6}) {
    print_family(context, found, family);
  }
  if (found.dual_stack_finding) {
    fmt::print(context.out, "{}: {}\n",
               cli::tinted("dual stack", Tint::Notice, context.out_terminal),
               *found.dual_stack_finding);
  }
}

}  // namespace chokepoint::probe
