#include "base/trends/peers.h"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

#include "base/math/significance.h"
#include "base/math/statistics.h"

namespace chokepoint::trends {
namespace {

constexpr std::size_t kLeastPeers = 4;
constexpr std::size_t kLeastToCut = 8;
constexpr double kRoundingShare =
    2e-3;  // of the median: equal values may have been rounded by so much

struct Spread {
  double center = 0;
  double deviation = 0;
  double freedom = 1;
};

// A normal distribution without the share that lies furthest from its center: the variance is so
// much smaller.
double cut_variance(double share) {
  if (share <= 0) {
    return 1;
  }
  const boost::math::normal normal;
  const double end = boost::math::quantile(boost::math::complement(normal, share / 2));
  return 1 - 2 * end * boost::math::pdf(normal, end) / (1 - share);
}

// Without those that lie furthest from the median, so that several unusual hosts do not hide each
// other. Of fewer than eight hosts none is left out: the test is Grubbs', whose distribution is
// exactly Student's.
Spread spread_of(std::vector<double> others) {
  constexpr double kWorth = 0.7;  // of a value in a cut sample, as degrees of freedom
  constexpr double kMaxFreedom =
      4;  // hosts differ by more than a normal distribution would have it
  const double median = *math::median(others);
  const std::size_t peers = others.size() + 1;
  const std::size_t cut = peers < kLeastToCut ? 0 : peers / 4 - 1;
  std::ranges::sort(others, {}, [&](double value) { return std::abs(value - median); });
  const auto all = static_cast<double>(others.size());
  others.resize(others.size() - cut);
  const auto kept = static_cast<double>(others.size());
  Spread spread{
      .center = *math::mean(others),
      .deviation = *math::standard_deviation(others) / std::sqrt(cut_variance(1 - kept / all)),
      .freedom = cut == 0 ? kept - 1 : kWorth * (kept - 1)};
  spread.deviation = std::max(spread.deviation, kRoundingShare * std::abs(median));
  spread.freedom = std::clamp(spread.freedom, 1.0, kMaxFreedom);
  return spread;
}

double p_of_peer(double deviations, const Spread& spread, std::size_t others, std::size_t peers) {
  // The others' center is uncertain, too.
  const double away = deviations / std::sqrt(1 + 1 / static_cast<double>(others));
  const boost::math::students_t distribution(spread.freedom);
  const double alone = 2 * boost::math::cdf(boost::math::complement(distribution, away));
  return std::min(1.0, alone * static_cast<double>(peers));
}

}  // namespace

std::vector<UnusualPeer> unusual_peers(std::span<const PeerValue> peers, const PeerRules& rules) {
  std::vector<std::size_t> known;
  for (std::size_t peer = 0; peer < peers.size(); ++peer) {
    if (std::isfinite(peers[peer].value) && std::isfinite(peers[peer].error)) {
      known.push_back(peer);
    }
  }
  std::vector<UnusualPeer> result;
  if (known.size() < kLeastPeers) {
    return result;
  }
  for (const std::size_t peer : known) {
    std::vector<double> others;
    for (const std::size_t other : known) {
      if (other != peer) {
        others.push_back(peers[other].value);
      }
    }
    const Spread spread = spread_of(others);
    const double deviation = std::hypot(spread.deviation, peers[peer].error);
    const double median = *math::median(others);
    const double distance = std::abs(peers[peer].value - spread.center);
    if (deviation <= 0 || distance < rules.min_relative * std::abs(median)) {
      continue;
    }
    UnusualPeer unusual{.peer = peer,
                        .others = median,
                        .times = std::nullopt,
                        .deviations = distance / deviation,
                        .p = 1};
    if (median != 0) {
      unusual.times = peers[peer].value / median;
    }
    unusual.p = p_of_peer(unusual.deviations, spread, others.size(), known.size());
    if (unusual.p <= rules.max_p) {
      result.push_back(unusual);
    }
  }
  std::ranges::stable_sort(result, {}, &UnusualPeer::p);
  return result;
}

}  // namespace chokepoint::trends
