// What a faster link costs, and what it saves. Values; pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/math/units.h"

namespace chokepoint::analysis {

// A rate as people name a link: 5GbE and 25GbE beside all that math::parse_rate takes.
Result<math::Rate> parse_link(std::string_view text);

constexpr double kMostNics = 64;  // of a host

struct Upgrade {
  std::string name = {};
  math::Rate rate = {};
  std::optional<double> nics = {};  // of a host; empty: as many as now
  double cost = 0;                  // in any currency
};

// "5GbE=41000", "new switch:5GbE=41000", "2x10GbE=60000" of two NICs a host.
Result<Upgrade> parse_upgrade(std::string_view text);

struct Gain {
  double saved_s = 0;                          // a run; below 0 if it is slower
  std::optional<double> cost_of_hour = {};     // money for each hour saved, over all runs
  std::optional<double> paid_back_after = {};  // runs, if an hour has a price
};

Gain gain_of(const Upgrade& upgrade, double now_s, double then_s, double runs,
             std::optional<double> hour_price);

}  // namespace chokepoint::analysis
