#include "analysis/load/interfaces.h"

#include <algorithm>
#include <charconv>

namespace chokepoint::analysis {
namespace {

struct Sight {
  Interface interface = {};
  std::optional<bool> has_carrier = {};
  std::optional<bool> is_enabled = {};
  std::string state = {};

  // A driver that tells no state says "unknown"; a carrier is then all that is known.
  bool is_up() const {
    if (!is_enabled.value_or(true) || !has_carrier.value_or(true)) {
      return false;
    }
    return state == "up" || (state != "down" && (has_carrier || is_enabled));
  }
};

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && value > 0 ? std::optional(value) : std::nullopt;
}

void take(const record::Fact& fact, Sight& sight) {
  if (fact.key == "kind") {
    sight.interface.kind = fact.value;
  } else if (fact.key == "operstate") {
    sight.state = fact.value;
  } else if (fact.key == "enabled") {
    sight.is_enabled = fact.value == "true";
  } else if (fact.key == "carrier") {
    sight.has_carrier = fact.value == "true";
  } else if (fact.key == "speed_mbps") {
    sight.interface.speed_mbps = number_of(fact.value);
  } else if (fact.key == "address_ipv4" || fact.key == "address_ipv6") {
    sight.interface.addresses.push_back(fact.value);
  }
}

}  // namespace

std::vector<Interface> interfaces_of(const std::vector<record::Fact>& facts) {
  std::vector<Sight> sights;
  for (const record::Fact& fact : facts) {
    if (fact.category != "nic" || fact.subject.empty()) {
      continue;
    }
    auto sight = std::ranges::find(sights, fact.subject,
                                   [](const Sight& each) { return each.interface.name; });
    if (sight == sights.end()) {
      sights.push_back({.interface = {.name = fact.subject}});
      sight = std::prev(sights.end());
    }
    take(fact, *sight);
  }
  std::vector<Interface> interfaces;
  for (Sight& sight : sights) {
    sight.interface.is_up = sight.is_up();
    interfaces.push_back(std::move(sight.interface));
  }
  return interfaces;
}

}  // namespace chokepoint::analysis
