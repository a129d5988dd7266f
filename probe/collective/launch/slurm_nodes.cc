#include "probe/collective/launch/slurm_nodes.h"

#include <algorithm>
#include <charconv>

namespace chokepoint::probe::collective {

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
