#include "preflight/report/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <sstream>

#include "base/checks/check.h"
#include "base/json/codec.h"
#include "base/json/schema.h"
#include "base/page/page.h"
#include "base/trends/standing_text.h"
#include "preflight/report/figures.h"
#include "preflight/report/finding_text.h"
#include "preflight/report/page.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;

template <class T>
Json schema_within() {
  Json schema = json::schema_of<T>();
  schema.erase("$schema");
  return schema;
}

template <Named E>
Json name_schema(const char* text) {
  Json names = Json::array();
  for (const auto& [value, name] : EnumNames<E>::kNames) {
    names.push_back(name);
  }
  return {{"description", text}, {"type", "string"}, {"enum", std::move(names)}};
}

Json list_schema(const char* text, Json items) {
  return {{"description", text}, {"type", "array"}, {"items", std::move(items)}};
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
  Json parts = json::to_json(measured);
  const auto add = [&](auto... names) { ((document[names] = std::move(parts[names])), ...); };
  add("program", "plan", "seed", "sampled", "interrupted", "duration_s", "left_out");
  document["verdict"] = name_of(judgement.verdict);
  document["sentence"] = sentence_of(measured, judgement);
  document["checks"] = json::to_json(judgement.findings);
  add("hosts");
  document["names"] = json_of_names(measured.hosts);
  document["expected_from"] =
      ExpectedRates(measured).is_by_links() ? "link speeds" : "the fastest way";
  document["pairs"] = json_of_pairs(measured);
  add("troubles", "cuts", "bundles", "collective");
  document["unusual"] = Json::array();
  return document;
}

Json document_schema() {
  Json schema = json::schema_of<Measured>();
  Json& parts = schema["properties"];
  parts["verdict"] = name_schema<checks::Status>("the worst status of all checks");
  parts["sentence"] = {{"description", "the verdict in words"}, {"type", "string"}};
  parts["checks"] = list_schema("the worst first", schema_within<Finding>());
  parts["names"] = schema_of_names();
  parts["expected_from"] = {{"description", "what `expected_share` is a share of"},
                            {"type", "string"},
                            {"enum", {"link speeds", "the fastest way"}}};
  parts["pairs"] = schema_of_pairs();
  parts["unusual"] = list_schema("what differs from earlier preflights in the history",
                                 schema_within<trends::ShownPlace>());
  for (const char* name :
       {"verdict", "sentence", "checks", "names", "expected_from", "pairs", "unusual"}) {
    schema["required"].push_back(name);
  }
  return schema;
}

void reduce(Json& document) {
  document["reduced"] = true;
  document.erase("names");
  drop_passed(document);
  Json& pairs = document["pairs"];
  drop(pairs);
  shorten(pairs);
  for (const char* path : {"there", "back"}) {
    drop(pairs[path]);
    shorten(pairs[path]);
  }
}

Result<std::string> html_of(const cli::Context& context, const Measured& measured,
                            const Judgement& judgement) {
  Json document = document_of(context, measured, judgement);
  if (measured.pairs.size() > kMaxPairsInFull) {
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
