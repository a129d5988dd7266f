#include "base/math/groups.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chokepoint::math {
namespace {

double log_choose(double of, double so_many) {
  return std::lgamma(of + 1) - std::lgamma(so_many + 1) - std::lgamma(of - so_many + 1);
}

// Places in the order of their first halves.
using Ordered = std::vector<std::size_t>;
using Values = std::span<const std::optional<Halves>>;

// After how many to cut so that both sides are as narrow as can be.
std::size_t narrowest_cut(const Ordered& ordered, Values values) {
  const double middle = values[ordered[ordered.size() / 2]]->first;
  double total = 0;
  for (const std::size_t place : ordered) {
    total += values[place]->first - middle;
  }
  double best = -1;
  std::size_t cut = 0;
  double below = 0;
  for (std::size_t i = 1; i < ordered.size(); ++i) {
    below += values[ordered[i - 1]]->first - middle;
    const double above = total - below;
    const double between = below * below / static_cast<double>(i) +
                           above * above / static_cast<double>(ordered.size() - i);
    if (between > best) {
      best = between;
      cut = i;
    }
  }
  return cut;
}

struct Side {
  static constexpr double kFar = std::numeric_limits<double>::infinity();
  double first_least = kFar;
  double first_most = -kFar;
  double second_least = kFar;
  double second_most = -kFar;
  double sum = 0;
  double count = 0;

  void add(const Halves& value) {
    first_least = std::min(first_least, value.first);
    first_most = std::max(first_most, value.first);
    second_least = std::min(second_least, value.second);
    second_most = std::max(second_most, value.second);
    sum += value.mean();
    ++count;
  }
  double mean() const { return sum / count; }
};

// The chance of this cut where all are alike; nothing where it does not hold.
std::optional<double> chance_of_cut(const Ordered& ordered, std::size_t cut, Values values,
                                    double min_difference) {
  Side lower;
  Side upper;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    (i < cut ? lower : upper).add(*values[ordered[i]]);
  }
  const double difference = upper.mean() - lower.mean();
  const double gap =
      std::min(upper.first_least - lower.first_most, upper.second_least - lower.second_most);
  const double p = std::exp(-log_choose(lower.count + upper.count, upper.count));
  if (p > kFalseAlarm || difference < min_difference || gap < difference / 2) {
    return std::nullopt;
  }
  return p;
}

void divide(const Ordered& ordered, double p, Values values, double min_difference,
            std::vector<Group>& into) {
  const std::size_t cut = ordered.size() < 2 ? 0 : narrowest_cut(ordered, values);
  const std::optional<double> chance =
      cut == 0 ? std::nullopt : chance_of_cut(ordered, cut, values, min_difference);
  if (chance) {
    const auto middle = ordered.begin() + static_cast<std::ptrdiff_t>(cut);
    divide(Ordered(ordered.begin(), middle), p, values, min_difference, into);
    divide(Ordered(middle, ordered.end()), *chance, values, min_difference, into);
    return;
  }
  Group group{.p = p, .members = ordered};
  std::ranges::sort(group.members);
  for (const std::size_t place : ordered) {
    group.mean += values[place]->mean() / static_cast<double>(ordered.size());
  }
  into.push_back(std::move(group));
}

}  // namespace

std::vector<Group> groups_of(Values values, double min_difference) {
  Ordered ordered;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) {
      ordered.push_back(i);
    }
  }
  std::ranges::sort(ordered, {}, [&](std::size_t place) { return values[place]->first; });
  std::vector<Group> groups;
  if (!ordered.empty()) {
    divide(ordered, 1, values, min_difference, groups);
  }
  return groups;
}

std::vector<Group> rate_groups(Values rates) {
  constexpr double kMinShare = 1e-3;
  double fastest = 1;
  for (const std::optional<Halves>& rate : rates) {
    fastest = std::max(fastest, rate ? std::max(rate->first, rate->second) : 0);
  }
  const auto slowness = [&](double rate) { return -std::log(std::max(rate, kMinShare * fastest)); };
  std::vector<std::optional<Halves>> values;
  for (const std::optional<Halves>& rate : rates) {
    values.push_back(rate ? std::optional(Halves{.first = slowness(rate->first),
                                                 .second = slowness(rate->second)})
                          : std::nullopt);
  }
  std::vector<Group> groups = groups_of(values, -std::log(1 - kMinSlower));
  for (Group& group : groups) {
    group.mean = std::exp(-group.mean);
  }
  return groups;
}

bool are_alike(Values rates) {
  double slowest = std::numeric_limits<double>::infinity();
  double fastest = 0;
  for (const std::optional<Halves>& rate : rates) {
    slowest = std::min(slowest, rate ? rate->mean() : 0);
    fastest = std::max(fastest, rate ? rate->mean() : 0);
  }
  return fastest > 0 && slowest >= (1 - kMinSlower) * fastest;
}

std::vector<std::size_t> unsteady_rates(Values rates) {
  double fastest = 0;
  for (const std::optional<Halves>& rate : rates) {
    fastest = std::max(fastest, rate ? std::max(rate->first, rate->second) : 0);
  }
  const double least = (1 - kMinSlower) * fastest;
  std::vector<std::size_t> unsteady;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const std::optional<Halves>& rate = rates[i];
    if (rate && (rate->first < least) != (rate->second < least)) {
      unsteady.push_back(i);
    }
  }
  return unsteady.size() > rates.size() / kMaxUnsteady ? std::vector<std::size_t>() : unsteady;
}

Share share_of(double count, std::size_t of) {
  constexpr double kZ = 1.96;  // both sides of 95 % of the normal distribution
  const double n = static_cast<double>(of);
  const double share = count / n;
  const double centre = share + kZ * kZ / (2 * n);
  const double reach = kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  const double scale = 1 + kZ * kZ / n;
  return {.likely = share,
          .low = std::max(0.0, (centre - reach) / scale),
          .high = std::min(1.0, (centre + reach) / scale)};
}

std::optional<long> one_of(const Share& share) {
  if (share.likely > 0.5) {
    return share.low <= 0.5 ? std::optional(2L) : std::nullopt;
  }
  return share.likely > 0 ? std::optional(std::lround(1 / share.likely)) : std::nullopt;
}

}  // namespace chokepoint::math
