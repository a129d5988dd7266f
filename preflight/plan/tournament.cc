#include "preflight/plan/tournament.h"

#include <algorithm>

namespace chokepoint::preflight::plan {

std::size_t Tournament::rounds() const {
  if (hosts_ < 2) {
    return 0;
  }
  return hosts_ % 2 == 0 ? hosts_ - 1 : hosts_;
}

Round Tournament::round(std::size_t number) const {
  const std::size_t circle = rounds();
  Round round;
  if (circle == 0) {
    return round;
  }
  round.reserve(hosts_ / 2);
  const auto add = [&](std::size_t one, std::size_t other) {
    const auto [less, more] = std::minmax(one, other);
    round.emplace_back(static_cast<HostIndex>(less), static_cast<HostIndex>(more));
  };
  const std::size_t turned = number % circle;
  // Without a last one that stands still, the one who would meet it is left out.
  if (hosts_ % 2 == 0) {
    add(turned, hosts_ - 1);
  }
  for (std::size_t step = 1; step <= (circle - 1) / 2; ++step) {
    add((turned + step) % circle, (turned + circle - step) % circle);
  }
  return round;
}

}  // namespace chokepoint::preflight::plan
