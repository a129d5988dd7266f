#include "analysis/load/run_data.h"

#include <algorithm>

namespace chokepoint::analysis {

const SeriesData* NodeData::find(std::string_view series_name, std::string_view subject) const {
  const auto found = std::ranges::find_if(series, [&](const SeriesData& each) {
    return each.row.name == series_name && each.row.subject == subject;
  });
  return found == series.end() ? nullptr : &*found;
}

std::vector<const SeriesData*> NodeData::find(std::string_view series_name) const {
  std::vector<const SeriesData*> found;
  for (const SeriesData& each : series) {
    if (each.row.name == series_name) {
      found.push_back(&each);
    }
  }
  return found;
}

const Interface* NodeData::interface(std::string_view interface_name) const {
  const auto found = std::ranges::find(interfaces, interface_name, &Interface::name);
  return found == interfaces.end() ? nullptr : &*found;
}

std::optional<std::int64_t> NodeData::rank() const {
  std::optional<std::int64_t> only;
  for (const record::Process& process : processes) {
    if (!process.rank.known() || process.rank.value() == only) {
      continue;
    }
    if (only) {
      return std::nullopt;
    }
    only = process.rank.value();
  }
  return only;
}

}  // namespace chokepoint::analysis
