// Ports, cables and ways that are slow or lose packets: who is named, and that nobody else is.

#include <fmt/format.h>

#include "tests/preflight/judge/judged.h"

namespace chokepoint::preflight {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Clusters : public testing::TestWithParam<std::size_t> {};

TEST_P(Clusters, AreWellInTwentyRuns) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Cluster cluster({.hosts = GetParam(), .seed = seed});
    EXPECT_THAT(troubles_of(cluster), IsEmpty()) << "seed " << seed;
  }
}

TEST_P(Clusters, NameThePortThatSendsSlowly) {
  Cluster cluster({.hosts = GetParam()});
  cluster.sending(1, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: gpu1 eth0, sending"));
}

TEST_P(Clusters, NameThePortThatReceivesSlowly) {
  Cluster cluster({.hosts = GetParam()});
  cluster.receiving(2, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: gpu2 eth0, receiving"));
}

TEST_P(Clusters, NameTheSlowPort) {
  Cluster cluster({.hosts = GetParam()});
  cluster.all_of(0, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.rate: gpu0 eth0"));
}

TEST_P(Clusters, NameTheCableThatLoses) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Cluster cluster({.hosts = GetParam(), .seed = seed});
    cluster.all_of(1, cluster.loses(0.5));
    EXPECT_THAT(troubles_of(cluster), ElementsAre("link.loss: gpu1 eth0")) << "seed " << seed;
  }
}

TEST_P(Clusters, NameTheSlowWay) {
  Cluster cluster({.hosts = GetParam()});
  cluster.way(2, 1, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: from gpu2 to gpu1"));
}

INSTANTIATE_TEST_SUITE_P(OfHosts, Clusters, testing::Values(3, 4, 8, 16, 64),
                         [](const auto& one) { return fmt::format("Of{}", one.param); });

}  // namespace
}  // namespace chokepoint::preflight
