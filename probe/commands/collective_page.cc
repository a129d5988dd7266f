#include <fmt/format.h>
#include <fmt/ostream.h>

#include <cmath>
#include <set>

#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/units.h"
#include "probe/commands/collective_report.h"
#include "probe/commands/units.h"

namespace chokepoint::probe {
namespace {

using collective::Outcome;
using collective::SizeResult;
using collective::Way;

constexpr std::string_view kEmpty = "-";

std::string time_of(double us) {
  return math::format_duration(std::chrono::nanoseconds(std::llround(us * 1000)));
}

std::string rate_of(const std::optional<double>& mbps) {
  return mbps ? math::format_rate(*mbps * kMega) : std::string(kEmpty);
}

cli::Cell checked_of(const SizeResult& size) {
  if (!size.wrong) {
    return {std::string(kEmpty)};
  }
  return size.is_wrong() ? cli::Cell("WRONG", cli::Tint::Bad) : cli::Cell("yes");
}

std::vector<cli::Cell> row_of(const SizeResult& size) {
  const math::Distribution times = math::distribution(size.times_us);
  const bool measured = times.count > 0;
  return {math::format_bytes(static_cast<double>(size.operation.bytes)),
          measured ? time_of(times.median) : std::string(kEmpty),
          measured ? time_of(times.p99) : std::string(kEmpty),
          rate_of(algbw_mbps(size)),
          rate_of(busbw_mbps(size)),
          std::to_string(times.count),
          checked_of(size)};
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "all-reduce of float32 by gloo, 4 ranks on 2 hosts, libgloo, tcp, eth0, ipv4, 1 socket a peer"
std::string head_of(const CollectiveMeasured& measured) {
  const Outcome& outcome = measured.outcome;
  std::set<std::string> hosts;
  for (const collective::Newcomer& member : outcome.members) {
    hosts.insert(member.host);
  }
  std::string text = fmt::format(
      "{} of {} by {}, {} on {}", name_of(measured.plan.collective), name_of(measured.plan.type),
      measured.backend, counted(outcome.members.size(), "rank"), counted(hosts.size(), "host"));
  if (outcome.ways.empty()) {
    return text;
  }
  const Way& way = outcome.ways.front();
  for (const std::string& each : {way.library, way.transport, way.interface, way.family}) {
    text += each.empty() ? "" : ", " + cli::printable(each);
  }
  if (way.channels) {
    text += ", " + counted(static_cast<std::size_t>(*way.channels), "channel");
  }
  if (way.sockets_per_peer) {
    text += ", " + counted(static_cast<std::size_t>(*way.sockets_per_peer), "socket") + " a peer";
  }
  return text;
}

void print_fit(const cli::Context& context, const Outcome& outcome) {
  const collective::Fit fitted = fit_of(outcome);
  if (fitted.alpha_us && fitted.beta_mbps) {
    fmt::print(context.out, "fitted: {} and the size at {}\n", time_of(*fitted.alpha_us),
               rate_of(fitted.beta_mbps));
  }
}

// What is better is said once, whichever ranks say it.
void print_better(const cli::Context& context, const Outcome& outcome) {
  std::set<std::string> said;
  for (const Way& way : outcome.ways) {
    if (!way.better.empty() && said.insert(way.better).second) {
      fmt::print(context.out, "{}\n", cli::printable(way.better));
    }
  }
}

}  // namespace

void print_page(const cli::Context& context, const CollectiveMeasured& measured) {
  using cli::Align;
  const Outcome& outcome = measured.outcome;
  fmt::print(context.out, "{}\n\n", head_of(measured));
  cli::Table table({{"size", Align::Right},
                    {"median", Align::Right},
                    {"p99", Align::Right},
                    {"algbw", Align::Right},
                    {"busbw", Align::Right},
                    {"iterations", Align::Right},
                    {"checked"}});
  for (const SizeResult& size : outcome.sizes) {
    table.add(row_of(size));
  }
  if (!outcome.sizes.empty()) {
    table.print(context.out, context.out_terminal);
    context.out << '\n';
  }
  print_fit(context, outcome);
  print_better(context, outcome);
  for (const SizeResult& size : outcome.sizes) {
    for (const collective::Wrong& wrong : size.wrong.value_or(std::vector<collective::Wrong>())) {
      fmt::print(context.out, "Wrong data: {}.\n", describe(wrong));
    }
  }
  for (const std::string& each : measured.missed) {
    fmt::print(context.out, "Not enough: {}.\n", each);
  }
  if (measured.interrupted) {
    context.out << "Interrupted: this is what was measured until then.\n";
  }
}

}  // namespace chokepoint::probe
