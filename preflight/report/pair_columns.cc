#include "preflight/report/pair_columns.h"

#include "preflight/report/columns.h"
#include "preflight/report/figure_json.h"
#include "preflight/report/words.h"
#include "preflight/report/yardstick.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;
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

}  // namespace

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

}  // namespace chokepoint::preflight
