#include "preflight/report/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <sstream>

#include "base/checks/check.h"
#include "base/control/bodies.h"
#include "base/page/page.h"
#include "preflight/report/figures.h"
#include "preflight/report/page.h"
#include "preflight/report/words.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;
using control::list_body;
using control::or_null;

Json json_of_evidence(const Evidence& evidence) {
  return {{"what", evidence.what},
          {"value", evidence.value},
          {"unit", evidence.unit},
          {"from", evidence.from}};
}

Json json_of_finding(const Finding& finding) {
  Json json = checks::json_of(finding.check);
  json["place"] = name_of(finding.place);
  json["hosts"] = finding.hosts;
  json["ways"] = json_of_ways(finding.ways);
  json["evidence"] = list_body(finding.evidence, json_of_evidence);
  return json;
}

Json json_of_host(const HostResult& host) {
  return {{"name", host.name},
          {"address", text_or_null(host.address)},
          {"presence", name_of(host.presence)},
          {"error", json_of_error(host.error)},
          {"lost_during", text_or_null(host.lost_during)},
          {"program", text_or_null(host.program)},
          {"link_mbps", or_null(link_mbps(host))},
          {"facts", host.facts ? json_of(*host.facts) : Json()},
          {"doctor", checks::json_of(host.doctor)}};
}

Json json_of_trouble(const Trouble& trouble) {
  return {{"a", trouble.a},
          {"b", trouble.b},
          {"test", trouble.test},
          {"error", json_of_error(trouble.error)}};
}

Json json_of_cut(const CutResult& cut) {
  return {{"left", cut.left},
          {"right", cut.right},
          {"ways", json_of_ways(cut.ways)},
          {"together_mbps", cut.together_mbps},
          {"alone_mbps", or_null(cut.alone_mbps)}};
}

Json json_of_collective(const CollectiveResult& collective) {
  return {{"backend", collective.backend},
          {"ranks", collective.ranks},
          {"bytes", collective.bytes},
          {"bus_mbps", or_null(collective.bus_mbps)},
          {"time_us", or_null(collective.time_us)},
          {"error", json_of_error(collective.error)}};
}

void add_head(Json& document, const Measured& measured) {
  document["program"] = measured.program;
  document["plan"] = measured.plan;
  document["seed"] = measured.seed;
  document["sampled"] = measured.is_sampled;
  document["interrupted"] = measured.was_interrupted;
  document["duration_s"] = measured.duration_s;
  document["left_out"] = measured.left_out;
}

constexpr std::array kNotDrawn{"retransmitted_percent",
                               "window_share",
                               "send_buffer_share",
                               "largest_window_bytes",
                               "sender_cpu_percent",
                               "receiver_cpu_percent",
                               "udp_packets",
                               "udp_lost",
                               "tcp_limit",
                               "rtt_min_ms",
                               "clock_uncertainty_ms",
                               "ipv4",
                               "ipv6"};

double at_three_digits(double value) {
  if (value == 0) {
    return 0;
  }
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 2);
  return std::round(value / unit) * unit;
}

// Few digits in the file, too: 0.0813, not 0.08130000000000001.
Json rounded(const Json& value) {
  constexpr double kWhole = 1e6;
  if (!value.is_number()) {
    return value;
  }
  const double number = at_three_digits(value.get<double>());
  if (std::abs(number) >= 100 || number == 0) {
    return std::abs(number) < kWhole * kWhole ? Json(static_cast<std::int64_t>(number))
                                              : Json(number);
  }
  return std::round(number * kWhole) / kWhole;
}

void shorten(Json& lists) {
  for (auto& [name, list] : lists.items()) {
    if (!list.is_array() || name == "a" || name == "b") {
      continue;
    }
    std::ranges::transform(list, list.begin(), rounded);
    const bool is_one =
        !list.empty() && list.front().is_number() &&
        std::ranges::all_of(list, [&](const Json& value) { return value == list.front(); });
    if (is_one) {
      list = Json(list.front());
    }
  }
}

void drop(Json& lists) {
  for (const char* name : kNotDrawn) {
    lists.erase(name);
  }
}

void drop_passed(Json& document) {
  for (Json& host : document["hosts"]) {
    Json wrong = Json::array();
    for (Json& check : host["doctor"]) {
      if (check["status"] != "PASS") {
        wrong.push_back(std::move(check));
      }
    }
    host["doctor"] = std::move(wrong);
  }
}

std::string text_of(const cli::Context& context, const Measured& measured,
                    const Judgement& judgement) {
  constexpr int kWidth = 110;
  std::ostringstream out;
  const cli::Context quiet{.out = out,
                           .err = context.err,
                           .clock = context.clock,
                           .root = context.root,
                           .environment = context.environment,
                           .out_terminal = {.width = kWidth},
                           .err_terminal = {},
                           .version = context.version};
  print_page(quiet, measured, judgement, false);
  return out.str();
}

bool is_of_hosts(Place place) {
  return place == Place::Host || place == Place::Port || place == Place::Slot ||
         place == Place::Name;
}

bool is_without_agent(Presence presence) {
  return presence == Presence::NoAgent || presence == Presence::Refused ||
         presence == Presence::Strange;
}

}  // namespace

Json document_of(const cli::Context& context, const Measured& measured,
                 const Judgement& judgement) {
  Json document = cli::document(context, kSchema);
  add_head(document, measured);
  document["verdict"] = checks::name_of(judgement.verdict);
  document["sentence"] = sentence_of(measured, judgement);
  document["checks"] = list_body(judgement.findings, json_of_finding);
  document["hosts"] = list_body(measured.hosts, json_of_host);
  document["names"] = json_of_names(measured.hosts);
  document["expected_from"] = Yardstick(measured).is_by_links() ? "link speeds" : "the fastest way";
  document["pairs"] = json_of_pairs(measured);
  document["troubles"] = list_body(measured.troubles, json_of_trouble);
  document["cuts"] = list_body(measured.cuts, json_of_cut);
  document["collective"] = measured.collective ? json_of_collective(*measured.collective) : Json();
  return document;
}

void reduce(Json& document) {
  document["reduced"] = true;
  document.erase("names");
  drop_passed(document);
  Json& pairs = document["pairs"];
  drop(pairs);
  shorten(pairs);
  for (const char* way : {"there", "back"}) {
    drop(pairs[way]);
    shorten(pairs[way]);
  }
}

Result<std::string> html_of(const cli::Context& context, const Measured& measured,
                            const Judgement& judgement) {
  Json document = document_of(context, measured, judgement);
  if (measured.pairs.size() > kMostPairsInFull) {
    reduce(document);
  }
  return page::html_of(
      {.title = fmt::format("Preflight of {} hosts · chokepoint", measured.hosts.size()),
       .view = "preflight",
       .document = std::move(document),
       .plain_text = text_of(context, measured, judgement)});
}

std::string drain_list(const Measured& measured, const Judgement& judgement) {
  std::map<HostIndex, checks::Checks> faults;
  for (const Finding& finding : judgement.findings) {
    if (finding.check.status != checks::Status::Critical || !is_of_hosts(finding.place)) {
      continue;
    }
    for (const HostIndex host : finding.hosts) {
      if (!is_without_agent(measured.hosts[host].presence)) {
        faults[host].push_back(finding.check);
      }
    }
  }
  std::string list;
  for (const auto& [host, checks] : faults) {
    list += fmt::format("{} {}\n", measured.hosts[host].name,
                        checks::summary(checks, checks::Status::Critical));
  }
  return measured.pairs.empty() ? "" : list;
}

}  // namespace chokepoint::preflight
