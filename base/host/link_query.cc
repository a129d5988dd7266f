#include "base/host/link_query.h"

#include <fmt/format.h>
#include <net/if.h>

#include <nlohmann/json.hpp>

#include "base/net/ethtool.h"
#include "base/net/rtnetlink.h"
#include "base/sys/number.h"

namespace chokepoint::host {
namespace {

template <class T>
std::optional<T> optional_of(Result<T> result) {
  return result ? std::optional<T>(std::move(*result)) : std::nullopt;
}

template <class Map>
typename Map::mapped_type entry_of(const Result<Map>& map, int index) {
  if (!map) {
    return {};
  }
  const auto entry = map->find(index);
  return entry == map->end() ? typename Map::mapped_type() : entry->second;
}

class LiveLinkQuery final : public LinkQuery {
 public:
  LiveLinkQuery()
      : ethtool_(net::Ethtool::open()),
        addresses_(net::dump_addresses()),
        qdiscs_(net::dump_qdiscs()) {}

  LinkAnswers ask(const std::string& interface) const override {
    const int index = static_cast<int>(if_nametoindex(interface.c_str()));
    LinkAnswers answers{.qdiscs = entry_of(qdiscs_, index),
                        .addresses = entry_of(addresses_, index)};
    if (!ethtool_) {
      return answers;
    }
    answers.driver = optional_of(ethtool_->driver(interface));
    answers.modes = optional_of(ethtool_->modes(interface));
    answers.rings = optional_of(ethtool_->rings(interface));
    answers.channels = optional_of(ethtool_->channels(interface));
    answers.coalescing = optional_of(ethtool_->coalescing(interface));
    answers.pause = optional_of(ethtool_->pause(interface));
    answers.pfc = optional_of(net::priority_flow_control(interface));
    answers.features = ethtool_->features(interface).value_or(std::vector<net::Feature>());
    answers.statistics = statistics(*ethtool_, interface).value_or(std::vector<net::Statistic>());
    return answers;
  }

  std::string source() const override { return "ethtool"; }

  std::optional<std::string> problem() const override {
    if (!ethtool_) {
      return describe(ethtool_.error());
    }
    return addresses_ ? std::nullopt : std::optional(describe(addresses_.error()));
  }

 private:
  Result<net::Ethtool> ethtool_;
  Result<net::AddressesByIndex> addresses_;
  Result<net::QdiscsByIndex> qdiscs_;
};

}  // namespace

std::unique_ptr<LinkQuery> live_link_query() { return std::make_unique<LiveLinkQuery>(); }

std::unique_ptr<LinkQuery> link_query_for(const sys::Root& root) {
  return root.is_live() ? live_link_query() : recorded_link_query(root);
}

namespace {

// Ordered, because a driver's statistics have an order.
using Json = nlohmann::ordered_json;

const Json& member(const Json& object, const char* key) {
  static const Json nothing;
  if (!object.is_object()) {
    return nothing;
  }
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

std::optional<std::int64_t> number(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_number_integer() ? std::optional(value.get<std::int64_t>()) : std::nullopt;
}

std::optional<bool> toggle(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
}

std::optional<std::string> text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

net::DriverInfo driver_of(const Json& json) {
  return {.driver = text(json, "driver").value_or(""),
          .version = text(json, "version").value_or(""),
          .firmware = text(json, "firmware").value_or(""),
          .bus = text(json, "bus").value_or("")};
}

std::optional<std::int64_t> speed(const Json& object, const char* key) {
  constexpr std::int64_t kMaxMbps = 1'000'000'000;
  const std::optional<std::int64_t> value = number(object, key);
  return value && *value > 0 && *value <= kMaxMbps ? value : std::nullopt;
}

net::LinkModes modes_of(const Json& json) {
  return {.speed_mbps = speed(json, "speed_mbps"),
          .fastest_mbps = speed(json, "fastest_mbps"),
          .partner_fastest_mbps = speed(json, "partner_fastest_mbps"),
          .duplex = text(json, "duplex"),
          .autonegotiation = toggle(json, "autonegotiation")};
}

net::Rings rings_of(const Json& json) {
  return {.rx = number(json, "rx"),
          .tx = number(json, "tx"),
          .rx_max = number(json, "rx_max"),
          .tx_max = number(json, "tx_max")};
}

net::Channels channels_of(const Json& json) {
  return {.combined = number(json, "combined"),
          .combined_max = number(json, "combined_max"),
          .rx = number(json, "rx"),
          .rx_max = number(json, "rx_max"),
          .tx = number(json, "tx"),
          .tx_max = number(json, "tx_max")};
}

net::Coalescing coalescing_of(const Json& json) {
  return {.adaptive_rx = toggle(json, "adaptive_rx"),
          .adaptive_tx = toggle(json, "adaptive_tx"),
          .rx_usecs = number(json, "rx_usecs"),
          .tx_usecs = number(json, "tx_usecs"),
          .rx_frames = number(json, "rx_frames"),
          .tx_frames = number(json, "tx_frames")};
}

net::Pause pause_of(const Json& json) {
  return {.autonegotiation = toggle(json, "autonegotiation"),
          .rx = toggle(json, "rx"),
          .tx = toggle(json, "tx")};
}

net::PriorityFlowControl pfc_of(const Json& json) {
  net::PriorityFlowControl control;
  for (const Json& priority : member(json, "enabled")) {
    if (priority.is_number_integer()) {
      control.enabled.push_back(priority.get<int>());
    }
  }
  return control;
}

// "on", "off", "off [fixed]": as `ethtool -k` prints them.
std::vector<net::Feature> features_of(const Json& json) {
  std::vector<net::Feature> features;
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) {
      const std::string state = value.get<std::string>();
      features.push_back({name, state.starts_with("on"), state.ends_with("[fixed]")});
    }
  }
  return features;
}

std::vector<net::Statistic> statistics_of(const Json& json) {
  std::vector<net::Statistic> statistics;
  for (const auto& [name, value] : json.items()) {
    if (value.is_number_integer()) {
      statistics.push_back({name, value.get<std::int64_t>()});
    }
  }
  return statistics;
}

std::vector<std::string> texts_of(const Json& json) {
  std::vector<std::string> texts;
  for (const Json& entry : json) {
    if (entry.is_string()) {
      texts.push_back(entry.get<std::string>());
    }
  }
  return texts;
}

// "10.0.0.2/24", "fe80::1/64"
std::optional<net::InterfaceAddress> address_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  const Result<net::Address> address = net::Address::parse(text.substr(0, slash));
  const std::optional<int> prefix =
      slash == std::string::npos ? std::nullopt : sys::parse_number<int>(text.substr(slash + 1));
  return address && prefix ? std::optional(net::InterfaceAddress{*address, *prefix}) : std::nullopt;
}

std::vector<net::InterfaceAddress> addresses_of(const Json& json) {
  std::vector<net::InterfaceAddress> addresses;
  for (const std::string& text : texts_of(json)) {
    if (const auto address = address_of(text)) {
      addresses.push_back(*address);
    }
  }
  return addresses;
}

template <class T>
std::optional<T> where_present(const Json& object, const char* key, T (*read)(const Json&)) {
  const Json& value = member(object, key);
  return value.is_object() ? std::optional(read(value)) : std::nullopt;
}

class RecordedLinkQuery final : public LinkQuery {
 public:
  explicit RecordedLinkQuery(const sys::Root& root) {
    const Result<std::string> content = root.read(kRecordedAnswers);
    if (!content) {
      problem_ = fmt::format("a copied root without {}", kRecordedAnswers);
      return;
    }
    answers_ = Json::parse(*content, nullptr, false);
    if (!answers_.is_object()) {
      problem_ = fmt::format("{} is not a JSON object", kRecordedAnswers);
    }
  }

  LinkAnswers ask(const std::string& interface) const override {
    const Json& json = member(answers_, interface.c_str());
    return {.driver = where_present(json, "driver", driver_of),
            .modes = where_present(json, "modes", modes_of),
            .rings = where_present(json, "rings", rings_of),
            .channels = where_present(json, "channels", channels_of),
            .coalescing = where_present(json, "coalescing", coalescing_of),
            .pause = where_present(json, "pause", pause_of),
            .pfc = where_present(json, "pfc", pfc_of),
            .features = features_of(member(json, "features")),
            .statistics = statistics_of(member(json, "statistics")),
            .qdiscs = texts_of(member(json, "qdiscs")),
            .addresses = addresses_of(member(json, "addresses"))};
  }

  std::string source() const override { return std::string(kRecordedAnswers); }
  std::optional<std::string> problem() const override { return problem_; }

 private:
  Json answers_;
  std::optional<std::string> problem_;
};

}  // namespace

std::unique_ptr<LinkQuery> recorded_link_query(const sys::Root& root) {
  return std::make_unique<RecordedLinkQuery>(root);
}

}  // namespace chokepoint::host
