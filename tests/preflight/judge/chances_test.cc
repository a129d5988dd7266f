// How often the judgement is right about loss, over seeds that no threshold was fitted on: those
// were chosen by looking at seeds below 1000.

#include <fmt/format.h>

#include "tests/preflight/judge/judged.h"

namespace chokepoint::preflight {
namespace {

constexpr std::uint64_t kFirst = 1000;
constexpr int kRuns = 400;

using Fault = std::function<void(Cluster&)>;

// Runs whose only trouble is this one.
int right(const Made& made, const Fault& fault, const std::vector<std::string>& wanted) {
  int count = 0;
  for (int run = 0; run < kRuns; ++run) {
    Made one = made;
    one.seed = kFirst + static_cast<std::uint64_t>(run);
    Cluster cluster(one);
    fault(cluster);
    count += troubles_of(cluster) == wanted ? 1 : 0;
  }
  return count;
}

class Chances : public testing::TestWithParam<std::size_t> {
 protected:
  Made made_{.hosts = GetParam()};
};

TEST_P(Chances, OfAFalseAlarm) {
  EXPECT_EQ(right(made_, [](Cluster&) {}, {}), kRuns);
}

TEST_P(Chances, OfNamingTheCableThatLoses) {
  const int count = right(made_, [](Cluster& cluster) { cluster.all_of(1, cluster.loses(0.5)); },
                          {"link.loss: gpu1 eth0"});
  EXPECT_GE(count, kRuns * (GetParam() == 3 ? 97 : 99) / 100);
}

TEST_P(Chances, OfNamingTheDirection) {
  const int count = right(made_, [](Cluster& cluster) { cluster.receiving(2, cluster.loses(0.5)); },
                          {"link.loss: gpu2 eth0, receiving"});
  // Of three hosts a direction has two ways; where one of them lost next to nothing, the other is
  // named by itself.
  EXPECT_GE(count, kRuns * (GetParam() == 3 ? 94 : 99) / 100);
}

INSTANTIATE_TEST_SUITE_P(OfHosts, Chances, testing::Values(3, 4, 8, 16),
                         [](const auto& one) { return fmt::format("Of{}", one.param); });

TEST(ChancesOfTwo, OfFindingTheLossBetweenTwoHosts) {
  const int count = right({.hosts = 2},
                          [](Cluster& cluster) {
                            cluster.path(0, 1, cluster.loses(0.5));
                            cluster.path(1, 0, cluster.loses(0.5));
                          },
                          {"link.loss: between gpu0 and gpu1"});
  EXPECT_GE(count, kRuns * 97 / 100);
}

}  // namespace
}  // namespace chokepoint::preflight
