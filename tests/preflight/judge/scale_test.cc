// Large clusters: who is named does not change with their number. That they are judged at all
// within a test's time is what keeps anything cubic out.

#include "preflight/judge/retest_candidates.h"
#include "tests/preflight/judge/judged.h"

namespace chokepoint::preflight {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(Scale, OfAThousandHostsAndAllTheirPairs) {
  Cluster cluster({.hosts = 1000});
  cluster.sending(500, Cluster::slower(10));
  cluster.all_of(700, cluster.loses(0.5));
  cluster.path(3, 4, Cluster::slower(10));
  EXPECT_THAT(
      troubles_of(cluster),
      testing::UnorderedElementsAre("link.oneway: gpu500 eth0, sending", "link.loss: gpu700 eth0",
                                    "link.oneway: from gpu3 to gpu4"));
}

TEST(Scale, OfFourThousandHostsInRounds) {
  Cluster cluster({.hosts = 4096, .peers = 22});
  cluster.all_of(1234, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.rate: gpu1234 eth0"));
  EXPECT_FALSE(find_groups(cluster.measured(), {}));
}

// Many bad hosts at once are many findings, and nobody else is accused.
TEST(Scale, OfManyBadHosts) {
  Cluster cluster({.hosts = 300});
  for (HostIndex host = 0; host < 60; ++host) {
    cluster.sending(5 * host, Cluster::slower(10));
  }
  EXPECT_THAT(troubles_of(cluster), SizeIs(60));
}

}  // namespace
}  // namespace chokepoint::preflight
