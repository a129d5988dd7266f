#include "preflight/plan/cut.h"

#include <algorithm>
#include <optional>

namespace chokepoint::preflight::plan {
namespace {

Pair in_order(HostIndex one, HostIndex other) {
  const auto [less, more] = std::minmax(one, other);
  return {less, more};
}

}  // namespace

Cut halves(const std::vector<HostIndex>& hosts) {
  const auto middle = hosts.begin() + static_cast<std::ptrdiff_t>(hosts.size() / 2);
  return {.left = {hosts.begin(), middle}, .right = {middle, hosts.end()}};
}

Round across(const Cut& cut, const std::function<bool(const Pair&)>& known) {
  Round round;
  std::vector<bool> taken(cut.right.size(), false);
  std::vector<HostIndex> waiting;
  const auto take = [&](HostIndex host, std::size_t place) {
    taken[place] = true;
    round.push_back(in_order(host, cut.right[place]));
  };
  for (std::size_t i = 0; i < cut.left.size(); ++i) {
    std::optional<std::size_t> found;
    // From its own place on, so that where all are known like stands opposite to like.
    for (std::size_t step = 0; step < cut.right.size() && !found; ++step) {
      const std::size_t place = (i + step) % cut.right.size();
      if (!taken[place] && known(in_order(cut.left[i], cut.right[place]))) {
        found = place;
      }
    }
    if (found) {
      take(cut.left[i], *found);
    } else {
      waiting.push_back(cut.left[i]);
    }
  }
  for (const HostIndex host : waiting) {
    const auto free = std::ranges::find(taken, false);
    if (free == taken.end()) {
      break;
    }
    take(host, static_cast<std::size_t>(free - taken.begin()));
  }
  return round;
}

}  // namespace chokepoint::preflight::plan
