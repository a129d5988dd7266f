#include "analysis/compare/names.h"

#include <algorithm>
#include <string_view>

namespace chokepoint::analysis {
namespace {

bool is_of_folders(const std::string& key) { return key == "folder" || key == "path"; }

// Up to the last slash in what both begin with.
std::size_t common_start(std::string_view one, std::string_view other) {
  const auto apart = std::ranges::mismatch(one, other).in1;
  const auto same = static_cast<std::size_t>(apart - one.begin());
  const std::size_t slash = one.substr(0, same).rfind('/');
  return slash == std::string_view::npos ? 0 : slash + 1;
}

std::size_t common_start(const Comparison& comparison, std::size_t key) {
  const auto& first = comparison.groups.front().values[key];
  std::size_t start = first ? first->size() : 0;
  for (const Group& group : comparison.groups) {
    if (first && group.values[key]) {
      start = std::min(start, common_start(*first, *group.values[key]));
    }
  }
  return start;
}

}  // namespace

bool is_same_everywhere(const Comparison& comparison, std::size_t key) {
  return std::ranges::all_of(comparison.groups, [&](const Group& group) {
    return group.values[key] == comparison.groups.front().values[key];
  });
}

std::string shown_value(const Comparison& comparison, std::size_t group, std::size_t key) {
  const std::optional<std::string>& value = comparison.groups[group].values[key];
  if (!value) {
    return "–";
  }
  const bool is_cut = is_of_folders(comparison.keys[key]) && !is_same_everywhere(comparison, key);
  return is_cut ? value->substr(common_start(comparison, key)) : *value;
}

void name_groups(Comparison& comparison) {
  const bool is_single = comparison.groups.size() == 1;
  for (std::size_t group = 0; group < comparison.groups.size(); ++group) {
    std::string name;
    for (std::size_t key = 0; key < comparison.keys.size(); ++key) {
      const bool is_told = comparison.groups[group].values[key].has_value();
      if (is_told && (is_single || !is_same_everywhere(comparison, key))) {
        name += (name.empty() ? "" : " ") + shown_value(comparison, group, key);
      }
    }
    comparison.groups[group].name = name.empty() ? (is_single ? "all runs" : "–") : name;
  }
}

}  // namespace chokepoint::analysis
