#include "capture/step/pause_groups.h"

#include <algorithm>
#include <numeric>

namespace chokepoint::capture::step {
namespace {

// Judgements.
constexpr double kMinShareOfPauses = 0.6;  // of all pauses' time, that those between steps have
constexpr double kMaxPauseToMean = 6;      // a longer one, as before the first step, counts as this
constexpr std::size_t kMaxGroup = 256;     // collectives of a step
constexpr std::size_t kMinGroups = 3;

double sum_of(const std::vector<double>& pauses) {
  return std::accumulate(pauses.begin(), pauses.end(), 0.0);
}

// Those between steps are no rarity: a few that are very long say nothing of the others.
void bound(std::vector<double>& pauses) {
  const double most = kMaxPauseToMean * sum_of(pauses) / static_cast<double>(pauses.size());
  for (double& pause : pauses) {
    pause = std::min(pause, most);
  }
}

}  // namespace

PauseGroups pause_groups(std::vector<double> pauses) {
  PauseGroups best;
  if (pauses.empty()) {
    return best;
  }
  bound(pauses);
  const double all = sum_of(pauses);
  for (std::size_t size = 2; size <= std::min(kMaxGroup, pauses.size() / kMinGroups); ++size) {
    std::vector<double> by_phase(size, 0.0);
    for (std::size_t place = 0; place < pauses.size(); ++place) {
      by_phase[place % size] += pauses[place];
    }
    const double most = std::ranges::max(by_phase);
    if (most >= kMinShareOfPauses * all && all > 0) {
      best = {.size = size,
              .pause = most * static_cast<double>(size) / static_cast<double>(pauses.size())};
    }
  }
  return best;
}

}  // namespace chokepoint::capture::step
