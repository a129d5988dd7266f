#include "base/record/series_table.h"

#include <algorithm>
#include <array>

namespace chokepoint::record {
namespace {

#define SERIES(constant, name_, kind_, unit_, text_, ...) \
  SeriesDescription{.name = name_,                        \
                    .kind = SeriesKind::kind_,            \
                    .unit = unit_,                        \
                    .text = text_ __VA_OPT__(, ) __VA_ARGS__},
#define FAMILY(constant, prefix_, kind_, text_) \
  SeriesDescription{                            \
      .name = (prefix_), .kind = SeriesKind::kind_, .text = (text_), .is_family = true},
constexpr std::array kSeries{
#include "base/record/series.def"
};
#undef FAMILY
#undef SERIES

}  // namespace

std::span<const SeriesDescription> series_table() { return kSeries; }

const SeriesDescription* describe_series(std::string_view name) {
  const auto* row = std::ranges::find(kSeries, name, &SeriesDescription::name);
  if (row == kSeries.end() || row->is_family) {
    row = std::ranges::find_if(kSeries, [&](const SeriesDescription& each) {
      return each.is_family && name.starts_with(each.name);
    });
  }
  return row == kSeries.end() ? nullptr : row;
}

}  // namespace chokepoint::record
