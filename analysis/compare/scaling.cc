#include "analysis/compare/scaling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace chokepoint::analysis {
namespace {

// On one GPU there is nothing to tell these apart by.
constexpr std::array<std::string_view, 6> kOfSize{"setup", "nodes",       "gpus_per_node",
                                                  "gpus",  "parallelism", "verdict"};

bool tells(const Group& group) {
  return group.gpus && group[Figure::SamplesPerS] && group[Figure::SamplesPerS]->mean > 0;
}

// How much a row on one GPU is like another row; nothing where they are of different kinds.
std::optional<int> likeness(const Comparison& comparison, const Group& one, const Group& group) {
  int same = 0;
  for (std::size_t key = 0; key < comparison.keys.size(); ++key) {
    const bool is_same = one.values[key] == group.values[key];
    if (!is_same && std::ranges::find(kOfSize, comparison.keys[key]) == kOfSize.end()) {
      return std::nullopt;
    }
    same += is_same ? 1 : 0;
  }
  return same;
}

std::optional<std::size_t> single_for(const Comparison& comparison, const Group& group) {
  std::optional<std::size_t> best;
  int most = -1;
  for (std::size_t place = 0; place < comparison.groups.size(); ++place) {
    const Group& one = comparison.groups[place];
    const std::optional<int> like =
        tells(one) && *one.gpus == 1 ? likeness(comparison, one, group) : std::nullopt;
    if (like && *like > most) {
      best = place;
      most = *like;
    }
  }
  return best;
}

// The reference's own spread is left out: all rows share it.
Estimate scaled(const Estimate& throughput, double by) {
  Estimate factor = throughput;
  factor.mean *= by;
  factor.min *= by;
  factor.max *= by;
  if (factor.sd) {
    *factor.sd *= by;
  }
  if (factor.interval) {
    factor.interval->low *= by;
    factor.interval->high *= by;
  }
  return factor;
}

}  // namespace

void fill_scaling(Comparison& comparison, const std::optional<Condition>& baseline) {
  for (std::size_t place = 0; place < comparison.groups.size(); ++place) {
    Group& group = comparison.groups[place];
    if (!tells(group)) {
      continue;
    }
    std::optional<std::size_t> reference = single_for(comparison, group);
    if (!reference && baseline) {
      reference = baseline_of(comparison, place, *baseline);
    }
    if (!reference || !tells(comparison.groups[*reference])) {
      continue;
    }
    const Group& one = comparison.groups[*reference];
    const double each = one[Figure::SamplesPerS]->mean / static_cast<double>(*one.gpus);
    group.scaling_reference = reference;
    group.figures[place_of(Figure::ScalingFactor)] =
        scaled(*group[Figure::SamplesPerS], 1 / (each * static_cast<double>(*group.gpus)));
  }
}

}  // namespace chokepoint::analysis
