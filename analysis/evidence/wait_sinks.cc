#include "analysis/evidence/wait_sinks.h"

#include <algorithm>
#include <limits>

namespace chokepoint::analysis {

// Tarjan's algorithm, without recursion.
std::vector<std::vector<std::uint32_t>> sinks_of(
    const std::vector<std::set<std::uint32_t>>& edges) {
  const std::size_t count = edges.size();
  std::vector<std::vector<std::uint32_t>> next(count);
  std::vector<bool> is_waited_for(count, false);
  for (std::uint32_t from = 0; from < count; ++from) {
    next[from].assign(edges[from].begin(), edges[from].end());
    for (const std::uint32_t to : next[from]) {
      is_waited_for[to] = true;
    }
  }
  constexpr std::size_t kUnseen = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> seen(count, kUnseen);
  std::vector<std::size_t> low(count, 0);
  std::vector<std::size_t> at(count, 0);
  std::vector<std::size_t> component(count, kUnseen);
  std::vector<std::uint32_t> open;
  std::vector<std::uint32_t> path;
  std::vector<std::vector<std::uint32_t>> components;
  std::size_t clock = 0;
  for (std::uint32_t start = 0; start < count; ++start) {
    if (seen[start] != kUnseen) {
      continue;
    }
    path.push_back(start);
    while (!path.empty()) {
      const std::uint32_t here = path.back();
      if (seen[here] == kUnseen) {
        seen[here] = low[here] = clock++;
        open.push_back(here);
      }
      if (at[here] < next[here].size()) {
        const std::uint32_t to = next[here][at[here]++];
        if (seen[to] == kUnseen) {
          path.push_back(to);
        } else if (component[to] == kUnseen) {
          low[here] = std::min(low[here], seen[to]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) {
        low[path.back()] = std::min(low[path.back()], low[here]);
      }
      if (low[here] == seen[here]) {
        components.emplace_back();
        for (bool is_last = false; !is_last;) {
          const std::uint32_t member = open.back();
          open.pop_back();
          component[member] = components.size() - 1;
          components.back().push_back(member);
          is_last = member == here;
        }
      }
    }
  }
  std::vector<std::vector<std::uint32_t>> sinks;
  for (std::size_t number = 0; number < components.size(); ++number) {
    const std::vector<std::uint32_t>& members = components[number];
    const bool leaves = std::ranges::any_of(members, [&](std::uint32_t member) {
      return std::ranges::any_of(next[member],
                                 [&](std::uint32_t to) { return component[to] != number; });
    });
    if (!leaves && (members.size() > 1 || is_waited_for[members.front()])) {
      sinks.push_back(members);
    }
  }
  return sinks;
}

}  // namespace chokepoint::analysis
