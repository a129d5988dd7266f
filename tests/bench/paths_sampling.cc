// How often 'chokepoint probe paths' finds a member of a bundle that loses, and how often one that
// does not: drawn flows, of which each takes a member at random. A line of JSON each setting.
//
//   paths_sampling [PLAYS]
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "base/math/loss_split.h"

namespace chokepoint::math {
namespace {

struct Setting {
  std::size_t flows = 64;
  std::uint64_t packets = 1000;
  int members = 4;
  int bad = 1;             // of the members
  double loss = 0;         // of a bad member
  double background = 0;   // of all
  double burst_share = 0;  // of the rounds, in each of which half of all packets are lost
};

struct Tally {
  int found = 0;
  std::size_t bad_flows = 0;
  std::size_t named = 0;
  std::size_t wrong = 0;
  std::size_t unclear = 0;
};

class Draw {
 public:
  explicit Draw(const Setting& setting) : setting_(setting) {}

  void play(Tally& tally) {
    std::vector<FlowLoss> flows(setting_.flows, FlowLoss{.sent = setting_.packets});
    std::vector<bool> is_bad(setting_.flows);
    std::uniform_int_distribution<int> member(0, setting_.members - 1);
    const std::uint64_t bursts = lost(setting_.packets, setting_.burst_share);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      is_bad[i] = member(random_) < setting_.bad && setting_.loss > 0;
      const double share = is_bad[i] ? setting_.loss : setting_.background;
      flows[i].lost = lost(setting_.packets - bursts, share) + lost(bursts, 0.5);
    }
    if (const auto split = split_by_loss(flows)) {
      ++tally.found;
      tally.named += split->lossy.size();
      tally.unclear += split->unclear.size();
      tally.bad_flows += static_cast<std::size_t>(std::ranges::count(is_bad, true));
      tally.wrong += static_cast<std::size_t>(
          std::ranges::count_if(split->lossy, [&](std::size_t flow) { return !is_bad[flow]; }));
    }
  }

 private:
  std::uint64_t lost(std::uint64_t of, double share) {
    return std::binomial_distribution<std::uint64_t>(of, share)(random_);
  }

  Setting setting_;
  std::mt19937_64 random_{20};
};

void measure(const Setting& setting, int plays) {
  Draw draw(setting);
  Tally tally;
  for (int i = 0; i < plays; ++i) {
    draw.play(tally);
  }
  fmt::print(
      R"({{"flows": {}, "packets": {}, "members": {}, "bad": {}, "loss": {}, "background": {}, )"
      R"("bursts": {}, "plays": {}, "found": {}, "bad_flows": {}, "named": {}, "wrong": {}, )"
      R"("unclear": {}}})"
      "\n",
      setting.flows, setting.packets, setting.members, setting.bad, setting.loss,
      setting.background, setting.burst_share, plays, tally.found, tally.bad_flows, tally.named,
      tally.wrong, tally.unclear);
  std::fflush(stdout);
}

void measure_all(int plays) {
  for (const double background : {0.0, 0.0001, 0.001, 0.02, 0.3}) {
    measure({.background = background}, plays);
  }
  measure({.packets = 100, .background = 0.02}, plays);
  measure({.flows = 16, .background = 0.01}, plays);
  measure({.background = 0.0001, .burst_share = 0.02}, plays);
  const int finds = plays / 50;  // each costs a hundred times as much
  for (const int members : {2, 4, 8}) {
    for (const double loss : {0.002, 0.005, 0.01, 0.02}) {
      measure({.members = members, .loss = loss}, finds);
    }
  }
  measure({.loss = 0.02, .background = 0.005}, finds);
  measure({.members = 8, .bad = 2, .loss = 0.01}, finds);
  measure({.members = 4, .bad = 3, .loss = 0.01}, finds);
  measure({.flows = 16, .members = 2, .loss = 0.02}, finds);
}

}  // namespace
}  // namespace chokepoint::math

int main(int argc, char** argv) {
  chokepoint::math::measure_all(argc > 1 ? std::atoi(argv[1]) : 10'000);
}
