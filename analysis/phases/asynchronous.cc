#include "analysis/phases/asynchronous.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

constexpr double kLargeBytes = 512 * 1024;  // of both ways: activations of this size are rarer
constexpr double kMoreAlike = 0.5;          // spread, of the other's
constexpr double kAlike = 0.05;             // of the bytes of the one before
constexpr std::size_t kFew = 8;

struct Pair {
  double took_ns = 0;
  double then_ns = 0;
};

double took_ns(const StageGap& bead) {
  return static_cast<double>(bead.exchange->end_ns - bead.exchange->own_ready_ns);
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

// How far from each other half of them usually are.
double spread_of(std::vector<double> values) {
  const double middle = math::median(values).value_or(0);
  for (double& value : values) {
    value = std::abs(value - middle);
  }
  return math::median(values).value_or(0);
}

// Whether the rank went on computing: then what it took and what came then are alike together, and
// else what came then is by itself. Nothing where neither is clearly more alike.
std::optional<bool> went_on(const std::vector<Pair>& pairs) {
  std::vector<double> together;
  std::vector<double> alone;
  for (const Pair& pair : pairs) {
    together.push_back(pair.took_ns + pair.then_ns);
    alone.push_back(pair.then_ns);
  }
  const double of_both = spread_of(std::move(together));
  const double of_then = spread_of(std::move(alone));
  if (pairs.size() < kFew || std::max(of_both, of_then) <= 0) {
    return std::nullopt;
  }
  if (of_both < kMoreAlike * of_then) {
    return true;
  }
  return of_then < kMoreAlike * of_both ? std::optional(false) : std::nullopt;
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
      const StageGap& bead = line.beads[own[place]];
      const StageGap& next = line.beads[own[place + 1]];
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

// Each place's own middle aside, all of them.
std::vector<Pair> all_pairs(const std::map<std::size_t, Place>& places) {
  std::vector<Pair> all;
  for (const auto& [number, place] : places) {
    std::vector<double> took;
    std::vector<double> then;
    for (const Pair& pair : place.pairs) {
      took.push_back(pair.took_ns);
      then.push_back(pair.then_ns);
    }
    const Pair middle{math::median(took).value_or(0), math::median(then).value_or(0)};
    for (const Pair& pair : place.pairs) {
      all.push_back({pair.took_ns - middle.took_ns, pair.then_ns - middle.then_ns});
    }
  }
  return all;
}

}  // namespace

void mark_unwaited(Line& line, const Spans& steps) {
  const std::map<std::size_t, Place> places = places_of(line, steps);
  const std::optional<bool> on_the_whole = went_on(all_pairs(places));
  for (const auto& [number, place] : places) {
    // Frameworks exchange large gradients while computing goes on, and small activations not.
    const bool is_usual = on_the_whole.value_or(place.bytes >= kLargeBytes);
    if (went_on(place.pairs).value_or(is_usual)) {
      for (const std::size_t bead : place.beads) {
        line.beads[bead].unwaited = true;
      }
    }
  }
}

}  // namespace chokepoint::analysis
