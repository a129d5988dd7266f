#include "analysis/phases/asynchronous.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace chokepoint::analysis {
namespace {

constexpr double kLargeBytes = 512 * 1024;  // of both ways: activations of this size are rarer
constexpr double kSure = 0.25;              // standard error of the slope
constexpr double kAlike = 0.05;             // of the bytes of the one before
constexpr std::size_t kFew = 8;

struct Pair {
  double took_ns = 0;
  double then_ns = 0;
};

double took_ns(const Bead& bead) {
  return static_cast<double>(bead.exchange->end_ns - bead.exchange->all_ready_ns);
}

// The beads of each step, by their place in it.
std::vector<std::vector<std::size_t>> by_step(const Line& line, const Spans& steps) {
  std::vector<std::vector<std::size_t>> places;
  std::size_t bead = 0;
  for (const Span& step : steps) {
    std::vector<std::size_t> own;
    for (; bead < line.beads.size(); ++bead) {
      const std::int64_t ready_ns = line.beads[bead].exchange->own_ready_ns;
      if (ready_ns >= step.end_ns) {
        break;
      }
      if (ready_ns >= step.start_ns) {
        own.push_back(bead);
      }
    }
    places.push_back(std::move(own));
  }
  return places;
}

struct Slope {
  double value = 0;
  double error = 1;
};

Slope slope_of(const std::vector<Pair>& pairs) {
  double took = 0;
  double then = 0;
  for (const Pair& pair : pairs) {
    took += pair.took_ns / static_cast<double>(pairs.size());
    then += pair.then_ns / static_cast<double>(pairs.size());
  }
  double both = 0;
  double spread = 0;
  for (const Pair& pair : pairs) {
    both += (pair.took_ns - took) * (pair.then_ns - then);
    spread += (pair.took_ns - took) * (pair.took_ns - took);
  }
  if (pairs.size() < kFew || spread <= 0) {
    return {};
  }
  const double slope = both / spread;
  double rest = 0;
  for (const Pair& pair : pairs) {
    const double miss = pair.then_ns - then - slope * (pair.took_ns - took);
    rest += miss * miss;
  }
  return {slope, std::sqrt(rest / static_cast<double>(pairs.size() - 2) / spread)};
}

struct Place {
  std::vector<std::size_t> beads = {};
  std::vector<Pair> pairs = {};
  double bytes = 0;
};

std::map<std::size_t, Place> places_of(const Line& line, const Spans& steps) {
  std::map<std::size_t, Place> places;
  for (const auto& own : by_step(line, steps)) {
    for (std::size_t place = 0; place + 1 < own.size(); ++place) {
      const Bead& bead = line.beads[own[place]];
      const Bead& next = line.beads[own[place + 1]];
      // Behind the last of the gradients everything waits.
      if (!next.queued && next.exchange->bytes > kAlike * bead.exchange->bytes) {
        places[place].beads.push_back(own[place]);
        places[place].pairs.push_back({took_ns(bead), static_cast<double>(next.gap_ns)});
        places[place].bytes = std::max(places[place].bytes, bead.exchange->bytes);
      }
    }
  }
  return places;
}

// Each place's own means aside, what all of them have in common.
Slope common_slope(const std::map<std::size_t, Place>& places) {
  std::vector<Pair> all;
  for (const auto& [number, place] : places) {
    Pair mean;
    for (const Pair& pair : place.pairs) {
      mean.took_ns += pair.took_ns / static_cast<double>(place.pairs.size());
      mean.then_ns += pair.then_ns / static_cast<double>(place.pairs.size());
    }
    for (const Pair& pair : place.pairs) {
      all.push_back({pair.took_ns - mean.took_ns, pair.then_ns - mean.then_ns});
    }
  }
  return slope_of(all);
}

// Frameworks exchange large gradients while computing goes on, and small activations not.
bool is_unwaited(const Slope& own, const Slope& common, double bytes) {
  for (const Slope& slope : {own, common}) {
    if (slope.error < kSure) {
      return slope.value < -0.5;
    }
  }
  return bytes >= kLargeBytes;
}

}  // namespace

void mark_unwaited(Line& line, const Spans& steps) {
  const std::map<std::size_t, Place> places = places_of(line, steps);
  const Slope common = common_slope(places);
  for (const auto& [number, place] : places) {
    if (is_unwaited(slope_of(place.pairs), common, place.bytes)) {
      for (const std::size_t bead : place.beads) {
        line.beads[bead].unwaited = true;
      }
    }
  }
}

}  // namespace chokepoint::analysis
