#include "preflight/report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "base/control/fields.h"
#include "base/control/message.h"
#include "preflight/report/words.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;

constexpr std::size_t kLongestText = 4096;

Result<HostIndex> index_in(const Json& json, const char* name, std::size_t hosts) {
  const std::optional<std::uint64_t> index = count_in(json);
  if (!index || *index >= hosts) {
    return malformed(name, fmt::format("wanted numbers of hosts, each below {}", hosts));
  }
  return static_cast<HostIndex>(*index);
}

Result<Ends> way_in(const Json& json, const char* name, std::size_t hosts) {
  if (!json.is_array() || json.size() != 2) {
    return malformed(name, "wanted two hosts for each way");
  }
  const Result<HostIndex> from = index_in(json[0], name, hosts);
  const Result<HostIndex> to = index_in(json[1], name, hosts);
  if (!from || !to) {
    return std::unexpected(!from ? from.error() : to.error());
  }
  return Ends(*from, *to);
}

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

Json word_or_null(std::string_view word) { return word.empty() ? Json() : Json(word); }

Figure loss_percent(const WayResult& way) {
  constexpr float kPercent = 100;
  return way.packets == 0
             ? Figure()
             : Figure(kPercent * static_cast<float>(way.lost) / static_cast<float>(way.packets));
}

Json json_of_ways(const Measured& measured, const Yardstick& yardstick, WayResult PairResult::* way,
                  bool is_there) {
  const Pairs& pairs = measured.pairs;
  Json json = Json::object();
  for (const auto& each : kWayColumns) {
    json[each.name] =
        column(pairs, [&](const PairResult& pair) { return json_of(pair.*way.*each.figure); });
  }
  json["expected_share"] = column(pairs, [&](const PairResult& pair) {
    return json_of_share(is_there ? yardstick.share(pair.a, pair.b, pair.*way)
                                  : yardstick.share(pair.b, pair.a, pair.*way));
  });
  json["loss_percent"] =
      column(pairs, [&](const PairResult& pair) { return json_of(loss_percent(pair.*way)); });
  const auto counted = [&](std::uint32_t WayResult::* count) {
    return column(pairs, [&](const PairResult& pair) {
      return (pair.*way).packets == 0 ? Json() : Json(pair.*way.*count);
    });
  };
  json["udp_packets"] = counted(&WayResult::packets);
  json["udp_lost"] = counted(&WayResult::lost);
  json["tcp_limit"] = column(
      pairs, [&](const PairResult& pair) { return word_or_null(name_of((pair.*way).limit)); });
  return json;
}

using Key = std::tuple<HostIndex, std::vector<std::string>, std::string>;

constexpr std::size_t kMostAddresses = 256;  // of one name

Key key_of(const NameAnswer& answer) {
  return {answer.asked, answer.addresses, answer.error ? describe(*answer.error) : std::string()};
}

Json answer_json(const NameAnswer& answer) {
  return {{"asked", answer.asked},
          {"addresses", answer.addresses},
          {"error", json_of_error(answer.error)},
          {"by", Json::array()}};
}

Result<HostIndex> asked_in(const Json& json, std::size_t hosts) {
  const auto at = json.find("asked");
  const auto asked = at == json.end() ? std::nullopt : count_in(*at);
  if (!asked || *asked >= hosts) {
    return malformed("asked", "wanted the number of a host");
  }
  return static_cast<HostIndex>(*asked);
}

Result<> read_answer(const Json& json, std::vector<HostResult>& hosts) {
  if (!json.is_object()) {
    return malformed("names", "wanted an object for each answer");
  }
  const auto asked = asked_in(json, hosts.size());
  const auto addresses = texts_in(json, "addresses");
  const auto error = error_in(json, "error");
  const auto by = hosts_in(json, "by", hosts.size());
  if (!asked || !addresses || !error || !by) {
    return std::unexpected(!asked       ? asked.error()
                           : !addresses ? addresses.error()
                           : !error     ? error.error()
                                        : by.error());
  }
  if (addresses->size() > kMostAddresses) {
    return malformed("addresses", "more than a name has");
  }
  for (const HostIndex host : *by) {
    hosts[host].names.push_back({.asked = *asked, .addresses = *addresses, .error = *error});
  }
  return {};
}

}  // namespace

std::unexpected<Error> malformed(std::string_view subject, std::string_view reason) {
  return fail(ErrorKind::Malformed, "read preflight", subject, reason);
}

std::optional<std::uint64_t> count_in(const Json& json) {
  const bool is_count =
      json.is_number_unsigned() || (json.is_number_integer() && json.get<std::int64_t>() >= 0);
  return is_count ? std::optional(json.get<std::uint64_t>()) : std::nullopt;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json json_of_error(const std::optional<Error>& error) {
  return error ? control::body_of(*error) : Json();
}

Result<std::optional<Error>> error_in(const Json& object, const char* name) {
  const auto at = object.find(name);
  if (at == object.end() || at->is_null()) {
    return std::nullopt;
  }
  if (!at->is_object()) {
    return malformed(name, "wanted an error's words");
  }
  control::Fields in(*at, name);
  Error error{.kind = control::error_in(*at, "").kind,
              .operation = in.text_or("operation", kLongestText, ""),
              .subject = in.text_or("subject", kLongestText, ""),
              .reason = in.text_or("reason", kLongestText, ""),
              .next_step = in.text_or("next_step", kLongestText, "")};
  return in.finish(std::optional(std::move(error)));
}

Json json_of_ways(const std::vector<Ends>& ways) {
  Json list = Json::array();
  for (const auto& [from, to] : ways) {
    list.push_back(Json::array({from, to}));
  }
  return list;
}

Result<const Json*> list_in(const Json& object, const char* name) {
  static const Json none = Json::array();
  const auto at = object.find(name);
  if (at == object.end() || at->is_null()) {
    return &none;
  }
  if (!at->is_array()) {
    return malformed(name, "wanted a list");
  }
  return &*at;
}

Result<std::vector<Ends>> ways_in(const Json& object, const char* name, std::size_t hosts) {
  return each_in<Ends>(object, name, [&](const Json& each) { return way_in(each, name, hosts); });
}

Result<std::vector<HostIndex>> hosts_in(const Json& object, const char* name, std::size_t hosts) {
  return each_in<HostIndex>(object, name,
                            [&](const Json& each) { return index_in(each, name, hosts); });
}

Result<std::vector<std::string>> texts_in(const Json& object, const char* name) {
  return each_in<std::string>(object, name, [&](const Json& each) -> Result<std::string> {
    if (!each.is_string() || each.get_ref<const std::string&>().size() > kLongestText) {
      return malformed(name, "wanted texts");
    }
    return each.get<std::string>();
  });
}

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
  const Yardstick yardstick(measured);
  Json json = {{"count", pairs.size()}, {"a", Json::array()}, {"b", Json::array()}};
  for (const PairResult& pair : pairs) {
    json["a"].push_back(pair.a);
    json["b"].push_back(pair.b);
  }
  for (const auto& each : kPairColumns) {
    json[each.name] =
        column(pairs, [&](const PairResult& pair) { return json_of(pair.*each.figure); });
  }
  json["ipv4"] =
      column(pairs, [](const PairResult& pair) { return word_or_null(name_of(pair.ipv4)); });
  json["ipv6"] =
      column(pairs, [](const PairResult& pair) { return word_or_null(name_of(pair.ipv6)); });
  json["there"] = json_of_ways(measured, yardstick, &PairResult::there, true);
  json["back"] = json_of_ways(measured, yardstick, &PairResult::back, false);
  return json;
}

Json json_of_names(const std::vector<HostResult>& hosts) {
  std::map<Key, Json> answers;
  for (HostIndex host = 0; host < hosts.size(); ++host) {
    for (const NameAnswer& answer : hosts[host].names) {
      const auto [at, is_new] = answers.try_emplace(key_of(answer));
      if (is_new) {
        at->second = answer_json(answer);
      }
      at->second["by"].push_back(host);
    }
  }
  Json list = Json::array();
  for (auto& [key, answer] : answers) {
    list.push_back(std::move(answer));
  }
  return list;
}

Result<> read_names(const Json& json, std::vector<HostResult>& hosts) {
  if (json.is_null()) {
    return {};
  }
  if (!json.is_array()) {
    return malformed("names", "wanted a list");
  }
  for (const Json& each : json) {
    if (const Result<> read = read_answer(each, hosts); !read) {
      return read;
    }
  }
  for (HostResult& host : hosts) {
    std::ranges::stable_sort(host.names, {}, &NameAnswer::asked);
  }
  return {};
}

}  // namespace chokepoint::preflight
