// Parallel links of which one is bad: named by the flows that take it, and no second finding for
// the same trouble.
#include "preflight/judge/retest_candidates.h"
#include "tests/preflight/judge/judged.h"

namespace chokepoint::preflight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Paths = std::vector<std::pair<HostIndex, HostIndex>>;

BadMember lossy(HostIndex from, HostIndex to) {
  return {.fault = MemberFault::Loss,
          .from = from,
          .to = to,
          .loss_percent = 2.1F,
          .others_loss_percent = 0,
          .flows = 3,
          .of_flows = 64,
          .one_of = 4,
          .ports = {40'001, 40'005, 40'008}};
}

TEST(Members, OneThatLosesIsNamedWithItsPorts) {
  Cluster cluster({.hosts = 4});
  cluster.path(0, 1, cluster.loses(2));
  cluster.measured().bundles = {{.asked = 0, .peer = 1, .verdict = "found", .bad = {lossy(0, 1)}}};
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement), ElementsAre("link.member: from gpu0 to gpu1"));
  const Finding finding = only(judgement, "link.member");
  EXPECT_EQ(finding.check.status, checks::Status::Critical);
  EXPECT_EQ(finding.check.found,
            "about 1 of 4 members loses 2.1 %, the others 0 %; 3 of 64 flows take it: source "
            "ports 40001, 40005, 40008 of gpu0");
  EXPECT_THAT(finding.check.next_step, HasSubstr("chokepoint probe paths "));
}

TEST(Members, TheSameRouterIsOneFinding) {
  Cluster cluster({.hosts = 4});
  for (const HostIndex from : {0U, 1U}) {
    BadMember bad = lossy(from, 2);
    bad.router = "10.77.4.2";
    cluster.measured().bundles.push_back(
        {.asked = from, .peer = 2, .verdict = "found", .bad = {bad}});
  }
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  const Finding finding = only(judgement, "link.member");
  EXPECT_EQ(finding.paths, (Paths{{0, 2}, {1, 2}}));
  EXPECT_EQ(finding.evidence.size(), 2U);
  EXPECT_THAT(finding.check.found, HasSubstr("members, at 10.77.4.2, loses"));
}

TEST(Members, TheSameRouterIsAsBadAsItsWorstWayAndEachFaultIsItsOwn) {
  Cluster cluster({.hosts = 4});
  BadMember slight = lossy(0, 2);
  slight.loss_percent = 0.05F;
  BadMember slow = lossy(3, 2);
  slow.fault = MemberFault::Rate;
  slow.mbps = 950;
  slow.others_mbps = 9400;
  for (BadMember bad : {slight, lossy(1, 2), slow}) {
    bad.router = "10.77.4.2";
    cluster.measured().bundles.push_back(
        {.asked = bad.from, .peer = 2, .verdict = "found", .bad = {bad}});
  }
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  std::vector<std::size_t> paths;
  for (const Finding& finding : judgement.findings) {
    if (finding.check.id == "link.member") {
      EXPECT_EQ(finding.check.status, checks::Status::Critical);
      paths.push_back(finding.paths.size());
    }
  }
  EXPECT_THAT(paths, testing::UnorderedElementsAre(2, 1));
}

TEST(Members, OneThatIsSlowExplainsItsWay) {
  Cluster cluster({.hosts = 4});
  cluster.path(2, 3, [](PathResult& path) { path.tcp_mbps = path.alone_mbps = 900; });
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: from gpu2 to gpu3"));
  cluster.measured().bundles = {
      {.asked = 2,
       .peer = 3,
       .verdict = "alike",
       .bad = {
           {.fault = MemberFault::Rate, .from = 2, .to = 3, .mbps = 950, .others_mbps = 9400}}}};
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.member: from gpu2 to gpu3"));
}

TEST(Members, OneThatIsLongerIsNoTrouble) {
  Cluster cluster({.hosts = 4});
  cluster.measured().bundles = {
      {.asked = 2,
       .peer = 3,
       .verdict = "found",
       .bad = {{.fault = MemberFault::Delay, .from = 2, .to = 3, .later_ms = 4}}}};
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
  EXPECT_THAT(only(judge(cluster.measured(), {}, nullptr), "link.member").check.found,
              HasSubstr("takes 4 ms longer"));
}

// A hostile document may name a way to itself, or one that nobody tested.
TEST(Members, OfWaysThatAreNone) {
  Cluster cluster({.hosts = 4});
  cluster.measured().bundles = {
      {.asked = 2, .peer = 2, .verdict = "found", .bad = {lossy(2, 2), lossy(3, 3)}}};
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
}

TEST(Members, AreLookedForWhereAWayIsWellAloneOrTheHostsAreWellWithOthers) {
  Cluster cluster({.hosts = 6});
  EXPECT_THAT(bundle_suspects(cluster.measured(), {}, 8), IsEmpty());
  cluster.path(4, 5, cluster.loses(2));
  cluster.path(3, 1, [](PathResult& path) {
    path.tcp_mbps = 900;
    path.alone_mbps = 9400;
  });
  // The same pair, the other way.
  cluster.path(1, 3, [](PathResult& path) {
    path.tcp_mbps = 950;
    path.alone_mbps = 9400;
  });
  EXPECT_EQ(bundle_suspects(cluster.measured(), {}, 8), (Paths{{3, 1}, {4, 5}}));
  EXPECT_EQ(bundle_suspects(cluster.measured(), {}, 1), (Paths{{3, 1}}));
}

TEST(Members, AreNotLookedForWhereAPortIsBad) {
  Cluster cluster({.hosts = 6});
  cluster.sending(2, [](PathResult& path) { path.tcp_mbps = path.alone_mbps = 900; });
  cluster.receiving(4, cluster.loses(2));
  EXPECT_THAT(bundle_suspects(cluster.measured(), {}, 8), IsEmpty());
}

}  // namespace
}  // namespace chokepoint::preflight
