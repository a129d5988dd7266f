#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <set>

#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/control/bodies.h"
#include "base/math/units.h"
#include "probe/commands/collective_run.h"

namespace chokepoint::probe {
namespace {

using cli::Json;
using collective::DataPath;
using collective::Outcome;
using collective::SizeResult;
using collective::Wrong;
using control::or_null;

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json wrong_body(const Wrong& wrong) {
  return {{"rank", wrong.rank},
          {"offset_bytes", wrong.offset_bytes},
          {"wanted", wrong.wanted},
          {"found", wrong.found}};
}

Json size_body(const SizeResult& size) {
  Json body{{"bytes", size.operation.bytes},
            {"elements", size.operation.bytes / collective::bytes_of(size.operation.type)},
            {"time_us",
             size.times_us.empty() ? Json() : json::to_json(math::distribution(size.times_us))},
            {"algbw_mbps", or_null(algbw_mbps(size))},
            {"busbw_mbps", or_null(busbw_mbps(size))},
            {"checked", size.wrong ? Json(size.wrong->empty()) : Json()}};
  if (size.is_wrong()) {
    body["wrong"] = control::list_body(*size.wrong, wrong_body);
  }
  return body;
}

Json rank_body(const Outcome& outcome, std::size_t index) {
  const DataPath way = index < outcome.ways.size() ? outcome.ways[index] : DataPath{};
  return {{"rank", outcome.members[index].rank},
          {"host", outcome.members[index].host},
          {"interface", text_or_null(way.interface)},
          {"local_address", text_or_null(way.local_address)}};
}

Json ranks_body(const Outcome& outcome) {
  Json list = Json::array();
  for (std::size_t i = 0; i < outcome.members.size(); ++i) {
    list.push_back(rank_body(outcome, i));
  }
  return list;
}

std::size_t hosts_of(const Outcome& outcome) {
  std::set<std::string> hosts;
  for (const collective::Newcomer& member : outcome.members) {
    hosts.insert(member.host);
  }
  return hosts.size();
}

// Rank 0's; where other ranks differ is shown with each rank.
void add_way(Json& document, const Outcome& outcome) {
  const DataPath way = outcome.ways.empty() ? DataPath{} : outcome.ways.front();
  document["interface"] = text_or_null(way.interface);
  document["transport"] = text_or_null(way.transport);
  document["library"] = text_or_null(way.library);
  document["family"] = text_or_null(way.family);
  document["local_address"] = text_or_null(way.local_address);
  document["channels"] = or_null(way.channels);
  document["sockets_per_peer"] = or_null(way.sockets_per_peer);
  document["link_mbps"] = or_null(way.link_mbps);
  document["better"] = text_or_null(way.better);
}

constexpr std::string_view kEmpty = "-";

std::string time_of(double us) { return math::format_ms(us / 1000); }

std::string rate_of(const std::optional<double>& mbps) {
  return mbps ? math::format_rate(*mbps * math::kMega) : std::string(kEmpty);
}

// As nccl-tests have it, 10^9 bytes/s, with three significant digits.
std::string gigabytes_of(const std::optional<double>& mbps) {
  if (!mbps) {
    return std::string(kEmpty);
  }
  const double gigabytes = *mbps / (math::kBits * 1e3);
  return gigabytes >= 1 ? math::three_digits(gigabytes) : fmt::format("{:#.3g}", gigabytes);
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
          gigabytes_of(algbw_mbps(size)),
          rate_of(busbw_mbps(size)),
          gigabytes_of(busbw_mbps(size)),
          std::to_string(times.count),
          checked_of(size)};
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "all-reduce of float32 by gloo, 4 ranks on 2 hosts, libgloo, tcp, eth0, ipv4, 1 socket a peer"
std::string head_of(const CollectiveMeasured& measured) {
  const Outcome& outcome = measured.outcome;
  std::string text =
      fmt::format("{} of {} by {}, {} on {}", name_of(measured.plan.collective),
                  name_of(measured.plan.type), measured.backend,
                  counted(outcome.members.size(), "rank"), counted(hosts_of(outcome), "host"));
  if (outcome.ways.empty()) {
    return text;
  }
  const DataPath& way = outcome.ways.front();
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

// Advice that several ranks give is printed once.
void print_advice(const cli::Context& context, const Outcome& outcome) {
  std::set<std::string> said;
  for (const DataPath& way : outcome.ways) {
    if (!way.better.empty() && said.insert(way.better).second) {
      fmt::print(context.out, "{}\n", cli::printable(way.better));
    }
  }
}

}  // namespace

void add_to(Json& document, const CollectiveMeasured& measured) {
  const Outcome& outcome = measured.outcome;
  const collective::Fit fitted = fit_of(outcome);
  document["backend"] = measured.backend;
  document["collective"] = name_of(measured.plan.collective);
  document["type"] = name_of(measured.plan.type);
  document["ranks"] = measured.ranks;
  document["hosts"] = hosts_of(outcome);
  document["launcher"] = measured.launcher;
  add_way(document, outcome);
  document["sizes"] = control::list_body(outcome.sizes, size_body);
  document["alpha_us"] = or_null(fitted.alpha_us);
  document["beta_mbps"] = or_null(fitted.beta_mbps);
  document["members"] = ranks_body(outcome);
  document["missed"] = measured.missed;
  document["interrupted"] = measured.interrupted;
  document["failure"] = measured.failure ? Json(describe(*measured.failure)) : Json();
}

void print_page(const cli::Context& context, const CollectiveMeasured& measured) {
  using cli::Align;
  const Outcome& outcome = measured.outcome;
  fmt::print(context.out, "{}\n\n", head_of(measured));
  cli::Table table({{"size", Align::Right},
                    {"median", Align::Right},
                    {"p99", Align::Right},
                    {"algbw", Align::Right},
                    {"GB/s", Align::Right},
                    {"busbw", Align::Right},
                    {"GB/s", Align::Right},
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
  print_advice(context, outcome);
  for (const SizeResult& size : outcome.sizes) {
    for (const collective::Wrong& wrong : size.wrong.value_or(std::vector<collective::Wrong>())) {
      fmt::print(context.out, "Wrong data: {}.\n", describe(wrong));
    }
  }
  for (const std::string& each : measured.missed) {
    fmt::print(context.out, "Threshold missed: {}.\n", each);
  }
  if (measured.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

}  // namespace chokepoint::probe
