// What documents say of many flows between two hosts that were compared: whether some of them form
// a group, and how large a share of all flows that is.
#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include "base/json/fields.h"
#include "base/math/groups.h"
#include "base/math/units.h"

namespace chokepoint {

namespace documents {

enum class FlowsVerdict { Found, Alike, Unknown };

struct SharePercent {
  double likely = 0;
  double low = 0;
  double high = 100;
};

inline SharePercent in_percent(const math::Share& share) {
  return {.likely = share.likely * math::kPercent,
          .low = share.low * math::kPercent,
          .high = share.high * math::kPercent};
}

}  // namespace documents

template <>
struct EnumNames<documents::FlowsVerdict> {
  using enum documents::FlowsVerdict;
  static constexpr std::string_view kWhat = "found, alike or unknown";
  static constexpr auto kNames = std::to_array<EnumName<documents::FlowsVerdict>>(
      {{Found, "found"}, {Alike, "alike"}, {Unknown, "unknown"}});
};

template <>
struct Fields<documents::SharePercent> {
  using S = documents::SharePercent;
  static constexpr FieldList kList{
      field("likely", &S::likely, "the estimate").between(0, 100),
      field("low", &S::low, "lower bound of the 95 % interval").between(0, 100),
      field("high", &S::high, "upper bound of the 95 % interval").between(0, 100)};
};

}  // namespace chokepoint
