// What groups of hosts share, and the tests that tell a shared link from a slow one.

#include "preflight/judge/retest_candidates.h"
#include "tests/preflight/judge/judged.h"

namespace chokepoint::preflight {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kRepeats = 12;

// As whoever leads the preflight does: the suspects again, with nothing else on.
void repeat_alone(Cluster& cluster) {
  for (const auto& [from, to] : suspects(cluster.measured(), {}, kRepeats)) {
    cluster.path(from, to, cluster.is_well_alone());
  }
}

CutResult made_cut(HostIndex hosts, double together, double alone) {
  CutResult cut{.together_mbps = together, .alone_mbps = alone};
  for (HostIndex host = 0; host < hosts / 2; ++host) {
    cut.left.push_back(host);
    cut.right.push_back(host + hosts / 2);
    cut.paths.emplace_back(host, host + hosts / 2);
  }
  return cut;
}

// Acknowledgements of what a host receives wait behind what it sends slowly.
TEST(Cut, WithASlowSenderInItAccusesTheSenderAlone) {
  Cluster cluster({.hosts = 4, .speed_mbps = 500});
  cluster.sending(3, [](PathResult& path) { path.tcp_mbps = path.alone_mbps = 27; });
  CutResult cut = made_cut(4, 1090, 1520);
  for (const auto& [from, to] : std::vector(cut.paths)) {
    cut.paths.emplace_back(to, from);
  }
  cluster.measured().cuts.push_back(cut);
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: gpu3 eth0, sending"));
}

TEST(Groups, AreThoseOfAnUplink) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster({.hosts = 8, .seed = seed});
    cluster.share_uplink(3, 3);
    const auto groups = find_groups(cluster.measured(), {});
    ASSERT_TRUE(groups) << "seed " << seed;
    EXPECT_THAT(groups->first, ElementsAre(0, 1, 2));
    EXPECT_THAT(groups->second, ElementsAre(3, 4, 5, 6, 7));
  }
}

TEST(Groups, AreFoundThoughSomeRoundsWereQuiet) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster({.hosts = 16, .seed = seed});
    cluster.each([&](HostIndex from, HostIndex to, PathResult& path) {
      // Every third pair happened to have the uplink for itself.
      if ((from % 2) != (to % 2) && (from + to) % 3 != 0) {
        Cluster::slower_in_its_round(4)(path);
      }
    });
    const auto groups = find_groups(cluster.measured(), {});
    ASSERT_TRUE(groups) << "seed " << seed;
    EXPECT_THAT(groups->first, ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
  }
}

TEST(Groups, AreNoneOnAWellCluster) {
  EXPECT_FALSE(find_groups(Cluster({.hosts = 8}).measured(), {}));
  EXPECT_FALSE(find_groups(Cluster({.hosts = 2}).measured(), {}));
  EXPECT_FALSE(find_groups(Cluster({.hosts = 0}).measured(), {}));
}

TEST(Groups, AreNoneForABadHost) {
  Cluster cluster({.hosts = 8});
  cluster.all_of(3, Cluster::slower(10));
  EXPECT_FALSE(find_groups(cluster.measured(), {}));
}

TEST(Uplink, IsNamedByItsGroups) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster({.hosts = 8, .seed = seed});
    cluster.share_uplink(4, 4);
    repeat_alone(cluster);
    cluster.measured().cuts.push_back(made_cut(8, 9400, 37'600));
    EXPECT_THAT(troubles_of(cluster),
                ElementsAre("uplink.oversubscribed: between gpu0, gpu1, gpu2, gpu3 and gpu4, gpu5, "
                            "gpu6, gpu7"))
        << "seed " << seed;
  }
}

TEST(Uplink, IsNamedWhereNoPortTellsItsRate) {
  Cluster cluster({.hosts = 8, .speed_mbps = std::nullopt});
  cluster.share_uplink(4, 4);
  repeat_alone(cluster);
  cluster.measured().cuts.push_back(made_cut(8, 9400, 37'600));
  EXPECT_THAT(troubles_of(cluster), SizeIs(1));
  EXPECT_EQ(only(judge(cluster.measured(), {}, nullptr), "uplink.oversubscribed").place,
            Place::Uplink);
}

// Two flows on one link get half each, and no port tells what full speed is.
TEST(Uplink, OfTwoToOneWhereNoPortTellsItsRate) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster({.hosts = 4, .speed_mbps = std::nullopt, .seed = seed});
    cluster.share_uplink(2, 2);
    repeat_alone(cluster);
    cluster.measured().cuts.push_back(made_cut(4, 9400, 18'800));
    EXPECT_THAT(troubles_of(cluster),
                ElementsAre("uplink.oversubscribed: between gpu0, gpu1 and gpu2, gpu3"))
        << "seed " << seed;
  }
}

TEST(Uplink, OfFourHosts) {
  Cluster cluster({.hosts = 4});
  cluster.share_uplink(2, 2);
  repeat_alone(cluster);
  cluster.measured().cuts.push_back(made_cut(4, 9400, 18'800));
  EXPECT_THAT(troubles_of(cluster),
              ElementsAre("uplink.oversubscribed: between gpu0, gpu1 and gpu2, gpu3"));
}

TEST(Uplink, AndABadHostAreTwoFindings) {
  Cluster cluster({.hosts = 8});
  cluster.share_uplink(4, 4);
  repeat_alone(cluster);
  cluster.all_of(1, cluster.loses(0.5));
  cluster.measured().cuts.push_back(made_cut(8, 9400, 37'600));
  EXPECT_THAT(troubles_of(cluster),
              testing::UnorderedElementsAre("uplink.oversubscribed: between gpu0, gpu1, gpu2, gpu3 "
                                            "and gpu4, gpu5, gpu6, gpu7",
                                            "link.loss: gpu1 eth0"));
}

TEST(Uplink, ThatCarriesAllIsWell) {
  Cluster cluster({.hosts = 8});
  cluster.measured().cuts.push_back(made_cut(8, 36'000, 37'600));
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
  EXPECT_EQ(only(judge(cluster.measured(), {}, nullptr), "uplink.oversubscribed").check.status,
            checks::Status::Pass);
}

TEST(Uplink, ThatIsSlowAloneIsALink) {
  Cluster cluster({.hosts = 8});
  cluster.each([](HostIndex from, HostIndex to, PathResult& path) {
    if ((from < 4) != (to < 4)) {
      Cluster::slower(10)(path);
    }
  });
  EXPECT_THAT(troubles_of(cluster),
              ElementsAre("link.rate: between gpu0, gpu1, gpu2, gpu3 and gpu4, gpu5, gpu6, gpu7"));
}

TEST(Suspects, AreNoneOnAWellCluster) {
  EXPECT_THAT(suspects(Cluster({.hosts = 16}).measured(), {}, 10), IsEmpty());
}

TEST(Suspects, AreSpreadOverHosts) {
  Cluster cluster({.hosts = 16});
  cluster.sending(3, Cluster::slower_in_its_round(10));
  cluster.receiving(7, Cluster::slower_in_its_round(2));
  const auto paths = suspects(cluster.measured(), {}, 4);
  ASSERT_THAT(paths, SizeIs(4));
  EXPECT_THAT(paths, testing::Contains(testing::Pair(3, testing::_)));
  EXPECT_THAT(paths, testing::Contains(testing::Pair(testing::_, 7)));
}

// A few repeats speak for the ways that were not tested again.
TEST(Suspects, RepeatedTellOfTheOthers) {
  Cluster cluster({.hosts = 16});
  cluster.sending(3, Cluster::slower_in_its_round(10));
  for (const auto& [from, to] : suspects(cluster.measured(), {}, 3)) {
    cluster.path(from, to, [](PathResult& path) { path.alone_mbps = path.tcp_mbps; });
  }
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: gpu3 eth0, sending"));
}

TEST(Suspects, ThatAreWellAloneAccuseNobody) {
  Cluster cluster({.hosts = 16});
  cluster.sending(3, Cluster::slower_in_its_round(10));
  for (const auto& [from, to] : suspects(cluster.measured(), {}, 3)) {
    cluster.path(from, to, cluster.is_well_alone());
  }
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
}

TEST(Suspects, ThatNobodyTestedAgainAccuseNobody) {
  Cluster cluster({.hosts = 16});
  cluster.path(3, 9, Cluster::slower_in_its_round(2));
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
  cluster.path(3, 9, Cluster::slower_in_its_round(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: from gpu3 to gpu9"));
}

}  // namespace
}  // namespace chokepoint::preflight
