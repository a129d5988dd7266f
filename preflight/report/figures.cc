#include "preflight/report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "base/json/codec.h"
#include "base/json/schema.h"
#include "preflight/report/finding_text.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;

// The double that prints with the digits that the float needs: 952.1, not 952.0999755859375.
double by_digits(float value) {
  std::array<char, 64> text = {};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value);
  double digits = value;
  std::from_chars(text.data(), written.ptr, digits);
  return digits;
}

using Pairs = std::vector<PairResult>;

// value(pair) is JSON; all of them, or null where all are.
template <class Value>
Json column(const Pairs& pairs, Value value) {
  Json list = Json::array();
  bool is_known = false;
  for (const PairResult& pair : pairs) {
    list.push_back(value(pair));
    is_known = is_known || !list.back().is_null();
  }
  return is_known ? list : Json();
}

template <class State>
Json word_or_null(State state) {
  return state == State::Unknown ? Json() : Json(name_of(state));
}

Figure loss_percent(const PathResult& path) {
  constexpr float kPercent = 100;
  return path.packets == 0
             ? Figure()
             : Figure(kPercent * static_cast<float>(path.lost) / static_cast<float>(path.packets));
}

Json json_of_paths(const Measured& measured, const ExpectedRates& expected,
                   PathResult PairResult::* path, bool is_there) {
  const Pairs& pairs = measured.pairs;
  Json json = Json::object();
  for (const auto& each : kPathColumns) {
    json[each.name] =
        column(pairs, [&](const PairResult& pair) { return json_of(pair.*path.*each.figure); });
  }
  json["expected_share"] = column(pairs, [&](const PairResult& pair) {
    return json_of_share(is_there ? expected.share(pair.a, pair.b, pair.*path)
                                  : expected.share(pair.b, pair.a, pair.*path));
  });
  json["loss_percent"] =
      column(pairs, [&](const PairResult& pair) { return json_of(loss_percent(pair.*path)); });
  const auto counted = [&](std::uint32_t PathResult::* count) {
    return column(pairs, [&](const PairResult& pair) {
      return (pair.*path).packets == 0 ? Json() : Json(pair.*path.*count);
    });
  };
  json["udp_packets"] = counted(&PathResult::packets);
  json["udp_lost"] = counted(&PathResult::lost);
  json["tcp_limit"] =
      column(pairs, [&](const PairResult& pair) { return word_or_null((pair.*path).limit); });
  return json;
}

Json list_of(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }

// A value a pair, null if it was not measured; null instead of the list if it was measured nowhere.
Json column_schema(Json values) {
  values["type"] = {values["type"], "null"};
  if (values.contains("enum")) {
    values["enum"].push_back(nullptr);
  }
  Json list = list_of(std::move(values));
  list["type"] = {"array", "null"};
  return list;
}

Json number_column(bool may_be_negative) {
  Json values = {{"type", "number"}};
  if (!may_be_negative) {
    values["minimum"] = 0;
  }
  return column_schema(std::move(values));
}

template <Named E>
Json name_column() {
  Json names = Json::array();
  for (const auto& [value, name] : EnumNames<E>::kNames) {
    names.push_back(name);
  }
  return column_schema({{"type", "string"}, {"enum", std::move(names)}});
}

Json object_schema(Json properties) {
  Json names = Json::array();
  for (const auto& [name, schema] : properties.items()) {
    names.push_back(name);
  }
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(names)}};
}

Json schema_of_paths(const char* text) {
  Json columns = Json::object();
  for (const auto& each : kPathColumns) {
    columns[each.name] = number_column(each.may_be_negative);
  }
  for (const char* name : {"expected_share", "loss_percent", "udp_packets", "udp_lost"}) {
    columns[name] = number_column(false);
  }
  columns["tcp_limit"] = name_column<TcpLimit>();
  Json schema = object_schema(std::move(columns));
  schema["description"] = text;
  return schema;
}

struct SharedAnswer {
  NameAnswer answer = {};
  std::vector<HostIndex> by = {};
};

PathEnds ends_of(const std::vector<std::pair<HostIndex, HostIndex>>& paths) {
  PathEnds ends;
  for (const auto& [from, to] : paths) {
    ends.push_back({from, to});
  }
  return ends;
}

}  // namespace
}  // namespace chokepoint::preflight

namespace chokepoint {

template <>
struct Fields<preflight::SharedAnswer> {
  using A = preflight::NameAnswer;
  using S = preflight::SharedAnswer;
  static constexpr FieldList kList{
      within(&S::answer, field("asked", &A::asked, "the host whose name was looked up")),
      within(&S::answer, field("addresses", &A::addresses, "what the name resolved to")
                             .up_to_items(256)
                             .or_default()),
      within(&S::answer, field("error", &A::error, "why it did not resolve")),
      field("by", &S::by, "the hosts that got this answer").or_default()};
};

}  // namespace chokepoint

namespace chokepoint::preflight {

std::unexpected<Error> malformed(std::string_view subject, std::string_view reason) {
  return fail(ErrorKind::Malformed, "read preflight", subject, reason);
}

PathEnds ends_of(const CutResult& cut) { return ends_of(cut.paths); }
PathEnds ends_of(const Finding& finding) { return ends_of(finding.paths); }

cli::Json json_of(const Figure& figure) {
  constexpr float kWhole = 1 << 24;  // up to here each whole number is a float of its own
  if (!figure || !std::isfinite(*figure)) {
    return {};
  }
  if (std::abs(*figure) < kWhole && std::trunc(*figure) == *figure) {
    return static_cast<std::int64_t>(*figure);
  }
  return by_digits(*figure);
}

cli::Json json_of_share(const Figure& share) {
  constexpr float kThousand = 1000;
  return share ? json_of(Figure(std::round(*share * kThousand) / kThousand)) : cli::Json();
}

Json json_of_pairs(const Measured& measured) {
  const Pairs& pairs = measured.pairs;
  const ExpectedRates expected(measured);
  Json json = {{"count", pairs.size()}, {"a", Json::array()}, {"b", Json::array()}};
  for (const PairResult& pair : pairs) {
    json["a"].push_back(pair.a);
    json["b"].push_back(pair.b);
  }
  for (const auto& each : kPairColumns) {
    json[each.name] =
        column(pairs, [&](const PairResult& pair) { return json_of(pair.*each.figure); });
  }
  json["ipv4"] = column(pairs, [](const PairResult& pair) { return word_or_null(pair.ipv4); });
  json["ipv6"] = column(pairs, [](const PairResult& pair) { return word_or_null(pair.ipv6); });
  json["there"] = json_of_paths(measured, expected, &PairResult::there, true);
  json["back"] = json_of_paths(measured, expected, &PairResult::back, false);
  return json;
}

Json schema_of_pairs() {
  const Json host = {{"type", "integer"}, {"minimum", 0}};
  Json columns = {{"count", host}, {"a", list_of(host)}, {"b", list_of(host)}};
  columns["count"]["description"] = "how long each list is";
  columns["a"]["description"] = "places in `hosts`; a < b, in order";
  for (const auto& each : kPairColumns) {
    columns[each.name] = number_column(each.may_be_negative);
  }
  columns["clock_offset_ms"]["description"] = "b's clock less a's";
  columns["ipv4"] = name_column<FamilyState>();
  columns["ipv6"] = name_column<FamilyState>();
  columns["there"] = schema_of_paths("from a to b");
  columns["back"] = schema_of_paths("from b to a");
  Json schema = object_schema(std::move(columns));
  schema["description"] =
      "what was measured between two hosts: for each figure a list with a value a pair, null if it "
      "was not measured; null instead of a list if it was measured nowhere";
  return schema;
}

Json schema_of_names() {
  Json answer = json::schema_of<SharedAnswer>();
  answer.erase("$schema");
  Json schema = list_of(std::move(answer));
  schema["description"] = "what names led to: each answer once, with the hosts that got it";
  return schema;
}

Json json_of_names(const std::vector<HostResult>& hosts) {
  using Key = std::tuple<HostIndex, std::vector<std::string>, std::string>;
  std::map<Key, SharedAnswer> answers;
  for (HostIndex host = 0; host < hosts.size(); ++host) {
    for (const NameAnswer& answer : hosts[host].names) {
      const std::string error = answer.error ? describe(*answer.error) : std::string();
      SharedAnswer& shared = answers[{answer.asked, answer.addresses, error}];
      if (shared.by.empty()) {
        shared.answer = answer;
      }
      shared.by.push_back(host);
    }
  }
  Json list = Json::array();
  for (const auto& [key, answer] : answers) {
    list.push_back(json::to_json(answer));
  }
  return list;
}

Result<> read_names(const Json& document, std::vector<HostResult>& hosts) {
  const auto names = document.find("names");
  if (names == document.end() || names->is_null()) {
    return {};
  }
  TRY(const auto answers, json::from_json<std::vector<SharedAnswer>>(*names, "names"));
  for (const SharedAnswer& shared : answers) {
    for (const HostIndex host : shared.by) {
      if (std::max(host, shared.answer.asked) >= hosts.size()) {
        return malformed("names", fmt::format("wanted hosts below {}", hosts.size()));
      }
      hosts[host].names.push_back(shared.answer);
    }
  }
  for (HostResult& host : hosts) {
    std::ranges::stable_sort(host.names, {}, &NameAnswer::asked);
  }
  return {};
}

}  // namespace chokepoint::preflight
