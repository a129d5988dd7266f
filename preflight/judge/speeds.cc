#include "preflight/judge/speeds.h"

#include <algorithm>

namespace chokepoint::preflight {
namespace {

// What repeats alone have shown of a host's one direction.
struct Shown {
  std::uint32_t slow = 0;
  std::uint32_t shared = 0;
  std::uint32_t well = 0;

  bool is_slow_throughout() const { return slow >= 2 && shared + well == 0; }
};

Speed shown_by(const WayResult& way, double least) {
  const Figure rate = rate_of(way);
  if (!rate || least <= 0) {
    return Speed::Unknown;
  }
  if (*rate < least) {
    return Speed::Slow;
  }
  return way.tcp_mbps.value_or(*rate) < least ? Speed::Shared : Speed::Well;
}

void count(Shown& shown, Speed speed) {
  shown.slow += speed == Speed::Slow ? 1 : 0;
  shown.shared += speed == Speed::Shared ? 1 : 0;
  shown.well += speed == Speed::Well ? 1 : 0;
}

class Guess {
 public:
  explicit Guess(std::size_t hosts) : out_(hosts), in_(hosts) {}

  void learn(const Way& way, Speed speed) {
    count(out_[way.from], speed);
    count(in_[way.to], speed);
    count(all_, speed);
  }

  // Of a way that was slow in its round alone.
  Speed of(const Way& way) const {
    const std::uint32_t slow = out_[way.from].slow + in_[way.to].slow;
    const std::uint32_t shared = out_[way.from].shared + in_[way.to].shared;
    if (slow + shared > 0) {
      return shared > slow ? Speed::Shared : Speed::Slow;
    }
    return all_.shared > all_.slow ? Speed::Shared : Speed::Slow;
  }

  // Of one that was not so slow that this alone would tell.
  bool is_slow_as_others(const Way& way) const {
    return out_[way.from].is_slow_throughout() || in_[way.to].is_slow_throughout();
  }

 private:
  std::vector<Shown> out_;
  std::vector<Shown> in_;
  Shown all_ = {};
};

// Something else than the flows had the cores nearly all the time. A network is then slow by that
// alone, though hardly by more than half.
bool are_processors_taken(const ClusterInput& scene) {
  constexpr double kMost = 0.5;
  const auto busy = static_cast<float>(scene.limits().cpu_percent);
  std::size_t tested = 0;
  std::size_t taken = 0;
  for (const Way& way : scene.ways()) {
    const WayResult& result = *way.result;
    const bool by_flow =
        result.limit == TcpLimit::SenderCpu || result.limit == TcpLimit::ReceiverCpu;
    tested += rate_of(result) ? 1 : 0;
    taken += !by_flow && (result.sender_cpu_percent.value_or(0) >= busy ||
                          result.receiver_cpu_percent.value_or(0) >= busy)
                 ? 1
                 : 0;
  }
  return static_cast<double>(taken) > kMost * static_cast<double>(tested);
}

}  // namespace

Speeds speeds_of(const ClusterInput& scene, const Expectations& expectations) {
  Speeds speeds;
  Guess guess(scene.hosts());
  const bool others_compute = are_processors_taken(scene);
  for (const Way& way : scene.ways()) {
    speeds.expected.push_back(expectations.of(way));
    double least = expectations.least(way, speeds.expected.back());
    if (others_compute) {
      least = std::min(least, scene.limits().link_critical_share * speeds.expected.back().mbps);
    }
    speeds.least.push_back(least);
    speeds.speed.push_back(shown_by(*way.result, speeds.least.back()));
    if (way.result->alone_mbps) {
      guess.learn(way, speeds.speed.back());
    }
  }
  for (std::size_t index = 0; index < scene.ways().size(); ++index) {
    const Way& way = scene.ways()[index];
    if (way.result->alone_mbps) {
      continue;
    }
    if (speeds.speed[index] == Speed::Slow) {
      speeds.speed[index] = guess.of(way);
    } else if (speeds.speed[index] == Speed::Well && guess.is_slow_as_others(way) &&
               *way.result->tcp_mbps < expectations.least_in_round(speeds.expected[index])) {
      speeds.speed[index] = Speed::Slow;
    }
  }
  return speeds;
}

}  // namespace chokepoint::preflight
