#include "capture/step/pause_groups.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace chokepoint::capture::step {
namespace {

// Judgements.
constexpr double kMinShareOfPauses = 0.6;  // of all pauses' time, that those between steps have
constexpr double kMaxPauseToMean = 6;      // a longer one, as before the first step, counts as this
constexpr std::size_t kMaxGroup = 256;     // collectives of a step
constexpr std::size_t kMinGroups = 3;

// Before each collective but the first; those between steps are no rarity, so that a few that are
// very long say nothing of the others.
std::vector<double> pauses_of(const std::vector<record::Collective>& collectives) {
  std::vector<double> pauses;
  std::int64_t end_ns = collectives.front().end_ns;
  double sum = 0;
  for (std::size_t place = 1; place < collectives.size(); ++place) {
    const record::Collective& row = collectives[place];
    pauses.push_back(static_cast<double>(std::max<std::int64_t>(row.start_ns - end_ns, 0)));
    sum += pauses.back();
    end_ns = std::max(end_ns, row.last_data_ns.value_or(row.end_ns));
  }
  const double most =
      kMaxPauseToMean * sum / static_cast<double>(std::max<std::size_t>(pauses.size(), 1));
  for (double& pause : pauses) {
    pause = std::min(pause, most);
  }
  return pauses;
}

struct Grouping {
  std::size_t size = 1;
  std::size_t first = 0;  // the pause before a step's first collective
};

// The largest group for which nearly all the time lies in the pauses between groups.
Grouping grouping_of(const std::vector<double>& pauses) {
  double all = 0;
  for (const double pause : pauses) {
    all += pause;
  }
  Grouping best;
  for (std::size_t size = 2; size <= std::min(kMaxGroup, pauses.size() / kMinGroups); ++size) {
    std::vector<double> by_phase(size, 0.0);
    for (std::size_t place = 0; place < pauses.size(); ++place) {
      by_phase[place % size] += pauses[place];
    }
    const auto most = std::ranges::max_element(by_phase);
    if (*most >= kMinShareOfPauses * all && all > 0) {
      best = {.size = size, .first = static_cast<std::size_t>(most - by_phase.begin())};
    }
  }
  return best;
}

}  // namespace

std::vector<Step> steps_between_pauses(const std::vector<record::Collective>& collectives) {
  std::vector<Step> steps;
  if (collectives.size() <= kMinGroups) {
    return steps;
  }
  const Grouping grouping = grouping_of(pauses_of(collectives));
  if (grouping.size == 1) {
    return steps;
  }
  for (std::size_t place = grouping.first + 1; place + grouping.size < collectives.size();
       place += grouping.size) {
    steps.push_back({.start_ns = collectives[place].start_ns,
                     .end_ns = collectives[place + grouping.size].start_ns,
                     .source = record::StepSource::Collectives});
  }
  return steps;
}

}  // namespace chokepoint::capture::step
