#include "analysis/report/recorded_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "analysis/load/given_probes.h"
#include "base/json/codec.h"

namespace chokepoint::analysis {
namespace {

using json::Json;

constexpr std::size_t kMaxValues = 256;
constexpr std::size_t kMaxLists = 16;
constexpr std::size_t kMaxColumns = 24;
constexpr std::size_t kMaxListRows = 200;
constexpr std::size_t kLongestText = 512;

// Of the whole document: what stands beside the probe already, or is about the hosts.
constexpr std::array kPassedOver{"schema", "host", "started_at", "peer", "direction", "host_facts"};

struct UnitOfName {
  std::string_view ending;
  const char* unit;
};

constexpr std::array kUnits{
    UnitOfName{"_mb_per_s", "MB/s"},   UnitOfName{"_per_s", "per_s"}, UnitOfName{"_mbps", "mbps"},
    UnitOfName{"_percent", "percent"}, UnitOfName{"_bytes", "bytes"}, UnitOfName{"_ms", "ms"},
    UnitOfName{"_us", "us"},           UnitOfName{"_gts", "gts"},     UnitOfName{"_s", "s"}};

struct Name {
  std::string what = {};
  std::string unit = {};  // empty: it has none of its own
};

Name name_of_field(const std::string& field) {
  Name name{.what = field.substr(0, kLongestText)};
  if (name.what == "bytes") {
    name.unit = "bytes";
    return name;
  }
  for (const UnitOfName& unit : kUnits) {
    if (name.what.ends_with(unit.ending)) {
      name.what.resize(name.what.size() - unit.ending.size());
      name.unit = unit.unit;
      break;
    }
  }
  std::ranges::replace(name.what, '_', ' ');
  return name;
}

// Below `above`, from which a field without a unit takes it: "rtt_ms" of its "median".
Name name_below(const Name& above, const std::string& field) {
  Name name = name_of_field(field);
  if (!above.what.empty()) {
    name.what = above.what + ", " + name.what;
  }
  if (name.unit.empty() && field != "count") {
    name.unit = above.unit;
  }
  return name;
}

ProbeValue value_of(const Json& json) {
  if (json.is_number() && std::isfinite(json.get<double>())) {
    return json.get<double>();
  }
  if (json.is_string()) {
    return json.get_ref<const std::string&>().substr(0, kLongestText);
  }
  return json.is_boolean() ? ProbeValue(json.get<bool>() ? "yes" : "no") : ProbeValue();
}

bool is_list_of_objects(const Json& json) {
  return json.is_array() && !json.empty() &&
         std::ranges::all_of(json, [](const Json& item) { return item.is_object(); });
}

// Scalars of the items, and of objects in them the scalars as well.
std::vector<std::pair<std::string, const Json*>> scalars_of(const Json& item) {
  std::vector<std::pair<std::string, const Json*>> scalars;
  for (const auto& [key, value] : item.items()) {
    if (value.is_object()) {
      for (const auto& [inner, below] : value.items()) {
        if (!below.is_structured()) {
          scalars.emplace_back(key + "\n" + inner, &below);
        }
      }
    } else if (!value.is_array()) {
      scalars.emplace_back(key, &value);
    }
  }
  return scalars;
}

Name name_of_column(const std::string& key) {
  const std::size_t end = std::min(key.find('\n'), key.size());
  const Name name = name_of_field(key.substr(0, end));
  return end == key.size() ? name : name_below(name, key.substr(end + 1));
}

NamedList list_of(const std::string& what, const Json& items) {
  NamedList list{.what = what, .count = items.size()};
  std::vector<std::string> keys;
  const std::size_t shown = std::min(items.size(), kMaxListRows);
  for (std::size_t at = 0; at < shown; ++at) {
    for (const auto& [key, value] : scalars_of(items[at])) {
      if (keys.size() < kMaxColumns && !value->is_null() &&
          std::ranges::find(keys, key) == keys.end()) {
        keys.push_back(key);
        const Name name = name_of_column(key);
        list.columns.push_back({name.what, name.unit});
      }
    }
  }
  for (std::size_t at = 0; at < shown; ++at) {
    std::vector<ProbeValue>& row = list.rows.emplace_back(keys.size());
    for (const auto& [key, value] : scalars_of(items[at])) {
      if (const auto place = std::ranges::find(keys, key); place != keys.end()) {
        row[static_cast<std::size_t>(place - keys.begin())] = value_of(*value);
      }
    }
  }
  return list;
}

void add(const Json& json, const Name& name, RecordedProbe& probe) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      const bool is_passed_over =
          name.what.empty() && std::ranges::find(kPassedOver, key) != kPassedOver.end();
      if (!is_passed_over) {
        add(value, name_below(name, key), probe);
      }
    }
  } else if (is_list_of_objects(json)) {
    if (NamedList list = list_of(name.what, json);
        probe.lists.size() < kMaxLists && !list.columns.empty()) {
      probe.lists.push_back(std::move(list));
    }
  } else if (json.is_array()) {
    for (const Json& item : json) {
      if (!item.is_structured()) {
        add(item, name, probe);
      }
    }
  } else if (const ProbeValue value = value_of(json);
             value.index() != 0 && probe.values.size() < kMaxValues) {
    probe.values.push_back(
        {.what = name.what, .value = value, .unit = json.is_number() ? name.unit : std::string()});
  }
}

}  // namespace

std::vector<RecordedProbe> recorded_probes(const RunData& run) {
  std::vector<RecordedProbe> all;
  for (const NodeData& node : run.nodes) {
    for (const record::Probe& probe : node.probes) {
      if (probe.kind == "doctor") {
        continue;
      }
      RecordedProbe recorded{.node = node.name,
                             .kind = probe.kind,
                             .peer = probe.peer,
                             .direction = probe.direction,
                             .wall_ns = node.wall_start_ns + (probe.t_ns - node.span.start_ns),
                             .source = source_of(node, probe)};
      add(json::object_or_null(probe.document), {}, recorded);
      all.push_back(std::move(recorded));
    }
  }
  return all;
}

}  // namespace chokepoint::analysis
