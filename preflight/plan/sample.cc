#include "preflight/plan/sample.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace chokepoint::preflight::plan {
namespace {

// std::shuffle and the standard's distributions differ between libraries; a seed shall not.
template <class T>
void shuffle(std::vector<T>& list, std::mt19937_64& random) {
  for (std::size_t left = list.size(); left > 1; --left) {
    std::swap(list[left - 1], list[random() % left]);
  }
}

template <class T>
std::vector<T> shuffled(std::size_t count, std::mt19937_64& random) {
  std::vector<T> list(count);
  std::iota(list.begin(), list.end(), T{0});
  shuffle(list, random);
  return list;
}

}  // namespace

Sample::Sample(std::size_t hosts, std::size_t rounds, std::uint64_t seed) : tournament_(hosts) {
  std::mt19937_64 random(seed);
  order_ = shuffled<HostIndex>(hosts, random);
  chosen_ = shuffled<std::size_t>(tournament_.rounds(), random);
  chosen_.resize(std::min(rounds, chosen_.size()));
}

Round Sample::round(std::size_t number) const {
  Round round = tournament_.round(chosen_.at(number));
  for (auto& [one, other] : round) {
    one = order_[one];
    other = order_[other];
    if (other < one) {
      std::swap(one, other);
    }
  }
  return round;
}

}  // namespace chokepoint::preflight::plan
