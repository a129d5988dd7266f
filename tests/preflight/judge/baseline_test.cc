// What is worse than the last time, beyond what runs vary.

#include "tests/preflight/judge/judged.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> troubles_since(const Cluster& now, const Cluster& before) {
  return troubles_of(judge(now.measured(), {}, &before.measured()));
}

TEST(Baseline, OfTheSameClusterIsNoFinding) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Cluster before({.hosts = 8, .noise = 0.05, .seed = seed});
    const Cluster now({.hosts = 8, .noise = 0.05, .seed = seed + 100});
    EXPECT_THAT(troubles_since(now, before), IsEmpty()) << "seed " << seed;
  }
}

TEST(Baseline, ThatScattersHidesWhatScattersAlike) {
  const Cluster before({.hosts = 8, .speed_mbps = std::nullopt, .noise = 0.3, .seed = 1});
  const Cluster now({.hosts = 8, .speed_mbps = std::nullopt, .noise = 0.3, .seed = 2});
  EXPECT_THAT(troubles_since(now, before), IsEmpty());
}

// Still within the limit of the hardware.
TEST(Baseline, NamesThePortThatFellBehind) {
  const Cluster before({.hosts = 8, .reached = 0.98, .seed = 1});
  Cluster now({.hosts = 8, .reached = 0.98, .seed = 2});
  now.sending(3, Cluster::slower(1.2));
  EXPECT_THAT(troubles_of(now), IsEmpty());
  EXPECT_THAT(troubles_since(now, before), ElementsAre("baseline.worse: gpu3 eth0, sending"));
}

TEST(Baseline, MarksWhatIsAFindingAnyway) {
  const Cluster before({.hosts = 8, .seed = 1});
  Cluster now({.hosts = 8, .seed = 2});
  now.sending(3, Cluster::slower(10));
  const Judgement judgement = judge(now.measured(), {}, &before.measured());
  EXPECT_THAT(troubles_of(judgement), ElementsAre("link.oneway: gpu3 eth0, sending"));
  EXPECT_THAT(judgement.findings.front().check.found, HasSubstr("worse than the last time"));
}

TEST(Baseline, NamesThePortThatCameUpSlower) {
  const Cluster before({.hosts = 8, .seed = 1});
  Cluster now({.hosts = 8, .seed = 2});
  now.port(2).speed_mbps = 1000;
  now.all_of(2, Cluster::slower(10));
  EXPECT_THAT(troubles_since(now, before), ElementsAre("port.speed: gpu2 eth0"));
}

TEST(Baseline, StandsInForPortsThatDoNotKnow) {
  const Cluster before({.hosts = 2, .speed_mbps = std::nullopt, .seed = 1});
  Cluster now({.hosts = 2, .speed_mbps = std::nullopt, .seed = 2});
  now.path(0, 1, Cluster::slower(2));
  EXPECT_THAT(troubles_since(now, before), ElementsAre("link.oneway: from gpu0 to gpu1"));
}

TEST(Baseline, OfSlowerEverythingIsOneFinding) {
  const Cluster before({.hosts = 8, .seed = 1});
  const Cluster now({.hosts = 8, .speed_mbps = 5000, .seed = 2});
  EXPECT_THAT(troubles_since(now, before), ElementsAre("baseline.worse: cluster"));
}

TEST(Baseline, NamesTheHostThatAnswersLater) {
  const Cluster before({.hosts = 8, .seed = 1});
  Cluster now({.hosts = 8, .seed = 2});
  now.each_pair([](PairResult& pair) {
    if (pair.a == 4 || pair.b == 4) {
      pair.rtt_ms = 0.5F;
    }
  });
  EXPECT_THAT(troubles_since(now, before), ElementsAre("baseline.worse: gpu4 eth0"));
}

TEST(Baseline, MatchesHostsByName) {
  Cluster before({.hosts = 4, .seed = 1});
  Cluster now({.hosts = 4, .seed = 2});
  // The same hosts in another order: then the first was slow by half.
  before.all_of(0, Cluster::slower(2));
  std::swap(before.host(0).name, before.host(3).name);
  now.all_of(3, Cluster::slower(2));
  const Judgement judgement = judge(now.measured(), {}, &before.measured());
  EXPECT_THAT(troubles_of(judgement), ElementsAre("link.rate: gpu3 eth0"));
  EXPECT_THAT(judgement.findings.front().check.found,
              testing::Not(HasSubstr("worse than the last time")));
}

TEST(Baseline, TellsWhoIsNewAndWhoIsMissing) {
  const Cluster before({.hosts = 4, .seed = 1});
  Cluster now({.hosts = 4, .seed = 2});
  now.host(3).name = "gpu9";
  const Finding finding = only(judge(now.measured(), {}, &before.measured()), "baseline.hosts");
  EXPECT_EQ(finding.check.status, Status::Info);
  EXPECT_EQ(finding.check.found, "new: gpu9; not there any more: gpu3");
}

}  // namespace
}  // namespace chokepoint::preflight
