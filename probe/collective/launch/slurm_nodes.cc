#include "probe/collective/launch/slurm_nodes.h"

#include <algorithm>
#include <charconv>

namespace chokepoint::probe::collective {

std::optional<std::string> first_node(std::string_view list) {
  std::string node;
  while (!list.empty() && list.front() != ',') {
    if (list.front() != '[') {
      node += list.front();
      list.remove_prefix(1);
      continue;
    }
    const std::size_t close = list.find(']');
    if (close == std::string_view::npos) {
      return std::nullopt;
    }
    // Up to the end of the first of its numbers: "[007-009,12]" is 007.
    const std::string_view inside = list.substr(1, close - 1);
    node += inside.substr(0, inside.find_first_of("-,"));
    list.remove_prefix(close + 1);
  }
  return node.empty() ? std::nullopt : std::optional(node);
}

std::optional<int> most_tasks(std::string_view list) {
  std::optional<int> most;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    int tasks = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), tasks);
    if (error != std::errc() || tasks < 1 || (end != item.data() + item.size() && *end != '(')) {
      return std::nullopt;
    }
    most = std::max(most.value_or(0), tasks);
    list.remove_prefix(std::min(item.size() + 1, list.size()));
  }
  return most;
}

}  // namespace chokepoint::probe::collective
