#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/cli/output.h"
#include "base/json/codec.h"
#include "base/sys/error.h"
#include "preflight/report/document.h"
#include "preflight/report/figures.h"
#include "preflight/report/finding_text.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;

constexpr const char* kNextStep = "keep a new baseline: 'chokepoint preflight HOST… --keep FILE'";

Result<> check_schema(const Json& document) {
  constexpr std::string_view kFamily = "chokepoint.preflight/";
  const auto at = document.find("schema");
  const std::string schema =
      at != document.end() && at->is_string() ? at->get<std::string>() : std::string();
  if (schema == kSchema) {
    return {};
  }
  const std::string version = schema.starts_with(kFamily) ? schema.substr(kFamily.size()) : "";
  if (!version.empty() && version != "0" &&
      version.find_first_not_of("0123456789") == std::string::npos) {
    return fail(
        ErrorKind::Newer, "read preflight", "",
        fmt::format("this is {}, of a newer chokepoint; this one knows {}", schema, kSchema),
        kNextStep);
  }
  return fail(ErrorKind::Malformed, "read preflight", "",
              schema.empty() ? std::string("this is no document of chokepoint: it names no schema")
                             : fmt::format("wanted {}, and this is '{}'", kSchema,
                                           schema.substr(0, kMaxDocumentNameBytes)),
              kNextStep);
}

template <class... Hosts>
Result<> check_hosts(const Measured& measured, const char* what, const Hosts&... hosts) {
  return (... && (hosts < measured.hosts.size()))
             ? Result<>()
             : malformed(what, fmt::format("wanted hosts below {}", measured.hosts.size()));
}

Result<> read_cut_paths(const Json& json, const Measured& measured, CutResult& cut) {
  for (const auto& group : {cut.left, cut.right}) {
    for (const HostIndex host : group) {
      TRY(check_hosts(measured, "cuts", host));
    }
  }
  if (!json.contains("ways")) {
    return {};
  }
  TRY(const PathEnds paths, json::field_in<PathEnds>(json, "ways", "cuts"));
  for (const std::vector<HostIndex>& ends : paths) {
    if (ends.size() != 2) {
      return malformed("cuts 'ways'", "wanted two hosts for each path");
    }
    TRY(check_hosts(measured, "cuts 'ways'", ends[0], ends[1]));
    cut.paths.emplace_back(ends[0], ends[1]);
  }
  return {};
}

Result<Measured> whole_in(const Json& document) {
  TRY(check_schema(document));
  TRY(Measured measured, json::from_json<Measured>(document, "preflight"));
  TRY(read_names(document, measured.hosts));
  for (const Trouble& trouble : measured.troubles) {
    TRY(check_hosts(measured, "troubles", trouble.a, trouble.b));
  }
  for (std::size_t i = 0; i < measured.cuts.size(); ++i) {
    TRY(read_cut_paths(document["cuts"][i], measured, measured.cuts[i]));
  }
  for (const BundleResult& bundle : measured.bundles) {
    TRY(check_hosts(measured, "bundles", bundle.asked, bundle.peer));
    for (const BadMember& bad : bundle.bad) {
      TRY(check_hosts(measured, "bundles 'bad'", bad.from, bad.to));
    }
  }
  const auto pairs = document.find("pairs");
  if (pairs == document.end()) {
    return malformed("pairs", "is missing");
  }
  TRY(auto read, pairs_in(*pairs, measured.hosts.size()));
  measured.pairs = std::move(read);
  return measured;
}

// Reads a list of an object, an entry for each pair, and hands those that are not null to set(pair,
// value). A figure that was measured nowhere has no list.
template <class T, class Set>
Result<> read_column(const Json& lists, const char* name, Bounds bounds,
                     std::vector<PairResult>& pairs, Set set) {
  const auto at = lists.find(name);
  if (at == lists.end() || at->is_null()) {
    return {};
  }
  bounds.most_items = pairs.size();
  TRY(const auto values,
      json::field_in<std::vector<std::optional<T>>>(lists, name, "pairs", bounds));
  if (values.size() != pairs.size()) {
    return malformed(name, fmt::format("wanted a list of {}", pairs.size()));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) {
      set(pairs[i], *values[i]);
    }
  }
  return {};
}

template <class Columns, class Of>
Result<> read_figures(const Json& lists, const Columns& columns, std::vector<PairResult>& pairs,
                      Of of) {
  constexpr double kMax = 1e15;
  for (const auto& column : columns) {
    const Bounds bounds{.least = column.may_be_negative ? -kMax : 0, .most = kMax};
    TRY(read_column<float>(lists, column.name, bounds, pairs, [&](PairResult& pair, float value) {
      of(pair).*column.figure = value;
    }));
  }
  return {};
}

Result<> check_order(const std::vector<PairResult>& pairs) {
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    const PairResult& pair = pairs[at];
    const bool is_after =
        at == 0 || std::pair(pairs[at - 1].a, pairs[at - 1].b) < std::pair(pair.a, pair.b);
    if (pair.a >= pair.b || !is_after) {
      return malformed("a, b", fmt::format("pair {} stands in the wrong place, or twice", at));
    }
  }
  return {};
}

Result<> read_paths(const Json& json, const char* object, PathResult PairResult::* path,
                    std::vector<PairResult>& pairs) {
  const auto lists = json.find(object);
  if (lists == json.end() || !lists->is_object()) {
    return malformed(object, "wanted an object of lists");
  }
  TRY(read_figures(*lists, kPathColumns, pairs,
                   [&](PairResult& pair) -> PathResult& { return pair.*path; }));
  for (const auto& [name, count] :
       {std::pair{"udp_packets", &PathResult::packets}, std::pair{"udp_lost", &PathResult::lost}}) {
    TRY(read_column<std::uint32_t>(
        *lists, name, {}, pairs,
        [&](PairResult& pair, std::uint32_t value) { pair.*path.*count = value; }));
  }
  return read_column<TcpLimit>(
      *lists, "tcp_limit", {}, pairs,
      [&](PairResult& pair, TcpLimit value) { (pair.*path).limit = value; });
}

}  // namespace

Result<Measured> measured_in(const Json& document) {
  if (!document.is_object()) {
    return fail(ErrorKind::Malformed, "read preflight", "",
                "this is no JSON document, or not whole", kNextStep);
  }
  Result<Measured> whole = whole_in(document);
  if (!whole) {
    // One operation and a next step, whichever part could not be read.
    whole.error().operation = "read preflight";
    if (whole.error().next_step.empty()) {
      whole.error().next_step = kNextStep;
    }
  }
  return whole;
}

Result<Measured> measured_in_text(std::string_view text) {
  return measured_in(json::parse_object(text, text.size(), "preflight").value_or(Json()));
}

namespace {

// Which hosts each pair is of; nothing of them is measured yet.
Result<std::vector<PairResult>> hosts_of_pairs(const Json& json, std::size_t hosts) {
  if (!json.is_object()) {
    return malformed("pairs", "wanted an object of lists");
  }
  const std::size_t most = hosts * (hosts - std::min<std::size_t>(hosts, 1)) / 2;
  const Bounds bounds{.most = static_cast<double>(hosts) - 1, .most_items = most};
  TRY(const auto count, json::field_in<std::size_t>(json, "count", "pairs"));
  TRY(const auto a, json::field_in<std::vector<HostIndex>>(json, "a", "pairs", bounds));
  TRY(const auto b, json::field_in<std::vector<HostIndex>>(json, "b", "pairs", bounds));
  if (a.size() != count || b.size() != count) {
    return malformed("pairs", fmt::format("wanted both hosts of {} pairs", count));
  }
  std::vector<PairResult> pairs(count);
  for (std::size_t i = 0; i < count; ++i) {
    pairs[i].a = a[i];
    pairs[i].b = b[i];
  }
  return pairs;
}

}  // namespace

Result<std::vector<PairResult>> pairs_in(const Json& json, std::size_t hosts) {
  TRY(std::vector<PairResult> pairs, hosts_of_pairs(json, hosts));
  TRY(check_order(pairs));
  TRY(read_figures(json, kPairColumns, pairs,
                   [](PairResult& pair) -> PairResult& { return pair; }));
  for (const auto& [name, family] :
       {std::pair{"ipv4", &PairResult::ipv4}, std::pair{"ipv6", &PairResult::ipv6}}) {
    TRY(read_column<FamilyState>(
        json, name, {}, pairs, [&](PairResult& pair, FamilyState value) { pair.*family = value; }));
  }
  TRY(read_paths(json, "there", &PairResult::there, pairs));
  TRY(read_paths(json, "back", &PairResult::back, pairs));
  return pairs;
}

}  // namespace chokepoint::preflight
