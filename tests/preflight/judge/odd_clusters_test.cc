// Clusters whose ports tell no rate, small ones and slight faults: what is found of them, and that
// processors which are busy accuse nobody.

#include <cerrno>
#include <cstdlib>

#include "preflight/coordinator/schedule.h"
#include "preflight/judge/figure_text.h"
#include "preflight/judge/retest_candidates.h"
#include "tests/preflight/judge/judged.h"

namespace chokepoint::preflight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kQuickRepeats = 6;

Cluster of_unknown_rate(std::size_t hosts) {
  return Cluster({.hosts = hosts, .speed_mbps = std::nullopt});
}

// In its round: a repeat is up to the leader.
Cluster::Change slow_by(double factor) { return Cluster::slower_in_its_round(factor); }

void repeat_as_slow(Cluster& cluster) {
  for (const auto& [from, to] : suspects(cluster.measured(), {}, kQuickRepeats)) {
    cluster.path(from, to, [](PathResult& path) { path.alone_mbps = 1.02F * *path.tcp_mbps; });
  }
}

TEST(SlightlySlow, PortOfFourIsNamed) {
  for (const double factor : {1.6, 2.0, 3.0}) {
    Cluster cluster = of_unknown_rate(4);
    cluster.sending(2, slow_by(factor));
    repeat_as_slow(cluster);
    EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: gpu2 eth0, sending")) << factor;
  }
}

// More ways than are tested again.
TEST(SlightlySlow, PortOfEightIsNamed) {
  Cluster cluster = of_unknown_rate(8);
  cluster.all_of(2, slow_by(2));
  repeat_as_slow(cluster);
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.rate: gpu2 eth0"));
}

TEST(SlightlySlow, PortOfThreeIsNamed) {
  Cluster cluster = of_unknown_rate(3);
  cluster.receiving(0, slow_by(3));
  repeat_as_slow(cluster);
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: gpu0 eth0, receiving"));
}

TEST(SlightlySlow, TwoOfFourAreNamed) {
  Cluster cluster = of_unknown_rate(4);
  cluster.all_of(1, slow_by(3));
  cluster.all_of(2, [](PathResult& path) { path.tcp_mbps = std::min(*path.tcp_mbps, 3000.0F); });
  for (int again = 0; again < 2; ++again) {
    repeat_as_slow(cluster);
  }
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.rate: gpu1 eth0", "link.rate: gpu2 eth0"));
}

// As seen on two cores: flows between hosts of one machine, held by nothing else.
TEST(BusyProcessors, ThatScatterRatesAccuseNobody) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Cluster cluster({.hosts = 4, .speed_mbps = std::nullopt, .noise = 0.5, .seed = seed});
    cluster.each([](HostIndex, HostIndex, PathResult& path) {
      path.sender_cpu_percent = 98;
      path.receiver_cpu_percent = 92;
    });
    for (const auto& [from, to] : suspects(cluster.measured(), {}, kQuickRepeats)) {
      cluster.path(from, to, [](PathResult& path) { path.alone_mbps = 0.8F * *path.tcp_mbps; });
    }
    CutResult cut{.left = {0, 1}, .right = {2, 3}, .paths = {{0, 2}, {1, 3}}};
    cut.together_mbps = 9000;
    cut.alone_mbps = 20'000;
    cluster.measured().cuts.push_back(cut);
    EXPECT_THAT(troubles_of(cluster), IsEmpty()) << "seed " << seed;
  }
}

TEST(BusyProcessors, DoNotHideASlowPortAmongScatteredRates) {
  Cluster cluster({.hosts = 4, .speed_mbps = std::nullopt, .noise = 0.3});
  cluster.each([](HostIndex, HostIndex, PathResult& path) {
    path.sender_cpu_percent = path.receiver_cpu_percent = 97;
  });
  cluster.sending(1, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: gpu1 eth0, sending"));
}

// What was reached once is within the link's power.
TEST(SlowAlone, IsNotSlowWhereItWasWellInItsRound) {
  Cluster cluster = of_unknown_rate(4);
  cluster.path(0, 1, [](PathResult& path) { path.alone_mbps = 0.2F * *path.tcp_mbps; });
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
}

// An uplink of half of what its hosts send: in rounds where few pairs cross it, all is well.
void share_by_rounds(Cluster& cluster, const std::function<bool(HostIndex)>& is_left,
                     double capacity) {
  const coordinator::Tournament tournament(cluster.hosts());
  for (std::size_t number = 0; number < tournament.rounds(); ++number) {
    const coordinator::Round round = tournament.round(number);
    const auto crosses = [&](const auto& pair) {
      return is_left(pair.first) != is_left(pair.second);
    };
    const auto crossing = static_cast<double>(std::ranges::count_if(round, crosses));
    for (const auto& pair : round) {
      if (crosses(pair) && crossing > capacity) {
        cluster.path(pair.first, pair.second, slow_by(crossing / capacity));
        cluster.path(pair.second, pair.first, slow_by(crossing / capacity));
      }
    }
  }
  for (const auto& [from, to] : suspects(cluster.measured(), {}, kQuickRepeats)) {
    cluster.path(from, to, cluster.is_well_alone());
  }
}

TEST(HalfUplink, OfEightHostsInOrder) {
  Cluster cluster = of_unknown_rate(8);
  share_by_rounds(cluster, [](HostIndex host) { return host < 4; }, 2);
  CutResult cut{.left = {0, 1, 2, 3}, .right = {4, 5, 6, 7}};
  for (HostIndex host = 0; host < 4; ++host) {
    cut.paths.emplace_back(host, host + 4);
  }
  cut.together_mbps = 18'800;
  cut.alone_mbps = 37'600;
  cluster.measured().cuts.push_back(cut);
  EXPECT_THAT(troubles_of(cluster),
              ElementsAre("uplink.oversubscribed: between gpu0, gpu1, gpu2, gpu3 and gpu4, gpu5, "
                          "gpu6, gpu7"));
}

TEST(HalfUplink, OfHostsThatAlternate) {
  for (const std::size_t hosts : {4U, 6U, 8U}) {
    Cluster cluster = of_unknown_rate(hosts);
    share_by_rounds(
        cluster, [](HostIndex host) { return host % 2 == 0; }, static_cast<double>(hosts) / 4);
    EXPECT_THAT(troubles_of(cluster), ElementsAre(HasSubstr("between gpu0, gpu2"))) << hosts;
  }
}

TEST(Ports, ThatCameUpSlowerThanMostAreNamed) {
  Cluster cluster({.hosts = 4});
  cluster.port(2).speed_mbps = 1000;
  cluster.all_of(2, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("port.speed: gpu2 eth0"));
}

TEST(Ports, OfTwoKindsAreNoFault) {
  Cluster cluster({.hosts = 4});
  for (const HostIndex host : {1U, 2U}) {
    cluster.port(host).speed_mbps = 1000;
    cluster.all_of(host, [](PathResult& path) { path.tcp_mbps = 940; });
  }
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
}

// Perhaps another site, perhaps a fault: it is said, and nobody is accused.
TEST(FarHost, OfOneNetworkIsMentioned) {
  Cluster cluster({.hosts = 4});
  cluster.each_pair([](PairResult& pair) {
    if (pair.b == 3) {
      pair.rtt_ms = pair.rtt_min_ms = 15;
    }
  });
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement), IsEmpty());
  const auto finding = std::ranges::find(judgement.findings, "gpu3 eth0",
                                         [](const Finding& one) { return one.check.subject; });
  ASSERT_NE(finding, judgement.findings.end());
  EXPECT_EQ(finding->check.id, "link.latency");
  EXPECT_EQ(finding->check.found, "15.0 ms on 3 pairs, within one network");
}

// Whoever pastes the line gets the command run: what else to do is a comment.
TEST(NextSteps, ArePastedAsTheyAre) {
  Cluster cluster({.hosts = 8, .speed_mbps = 1000, .mtu = 9000});
  cluster.look_up_names();
  cluster.sending(1, Cluster::slower(10));
  cluster.all_of(2, cluster.loses(3));
  cluster.host(3).names[3].addresses = {"127.0.1.1"};
  cluster.port(4).mtu = 1500;
  cluster.path(5, 6, Cluster::slower(5));
  cluster.remove(7, Presence::Refused);
  for (const Finding& finding : judge(cluster.measured(), {}, nullptr).findings) {
    const std::string& step = finding.check.next_step;
    const std::string quoted = "bash -nc " + shell_word("ssh() { :; }\n" + step);
    EXPECT_EQ(std::system(quoted.c_str()), 0) << step;  // NOLINT(concurrency-mt-unsafe)
    const std::string command = step.substr(0, step.find("  # "));
    EXPECT_THAT(command, testing::Not(testing::ContainsRegex("; (the|look|swap|mend|for|until)")));
  }
}

TEST(FailedTests, AreRepeatedByACommandThatThereIs) {
  Cluster cluster({.hosts = 4});
  for (const HostIndex other : {0U, 2U, 3U}) {
    cluster.measured().troubles.push_back(
        {.a = 1, .b = other, .test = "loss", .error = from_errno(ETIMEDOUT, "probe udp", "gpu1")});
  }
  const Finding finding = only(judge(cluster.measured(), {}, nullptr), "test.failed");
  EXPECT_EQ(finding.check.found, "probe udp failed between 3 pairs");
  EXPECT_THAT(finding.check.next_step,
              testing::StartsWith("ssh gpu1 'chokepoint probe udp 10.0.0.1 --key-file KEY'"));
}

// As a host with packets of 1400 does it to tests that others begin.
TEST(SmallMtu, ThatSwallowsTheTestOfLossIsOneFinding) {
  Cluster cluster({.hosts = 4, .mtu = 9000});
  cluster.port(1).mtu = 1400;
  cluster.all_of(1, [](PathResult& path) { path.mtu_bytes = 1400; });
  cluster.path(0, 1, [](PathResult& path) { path.lost = path.packets; });
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.mtu: gpu1 eth0"));
}

// Its own name is looked up by whoever binds to it.
TEST(OwnName, ThatIsAnothers) {
  Cluster cluster({.hosts = 4});
  cluster.look_up_names();
  cluster.host(1).names[1].addresses = {made_address(2)};
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement), ElementsAre("name.elsewhere: gpu1"));
  EXPECT_THAT(only(judgement, "name.elsewhere").hosts, ElementsAre(1));
}

TEST(OwnName, ThatIsNotKnown) {
  Cluster cluster({.hosts = 4});
  cluster.look_up_names();
  cluster.host(1).names[1].addresses = {};
  EXPECT_THAT(troubles_of(cluster), ElementsAre("name.unresolved: gpu1"));
}

TEST(OwnName, IsNotToldAgainWhereItIsWrongEverywhere) {
  Cluster cluster({.hosts = 4});
  cluster.look_up_names();
  for (HostIndex asker = 0; asker < 4; ++asker) {
    cluster.host(asker).names[1].addresses = {"192.0.2.9"};
  }
  EXPECT_THAT(troubles_of(cluster), ElementsAre("name.elsewhere: name gpu1"));
}

TEST(Collective, ThatFailsForAWrongNameAccusesNobodyElse) {
  Cluster cluster({.hosts = 4});
  cluster.look_up_names();
  cluster.host(1).names[1].addresses = {made_address(2)};
  cluster.measured().collective = CollectiveResult{
      .backend = "gloo", .ranks = 4, .error = from_errno(ETIMEDOUT, "probe collective", "gpu0")};
  EXPECT_THAT(troubles_of(cluster), ElementsAre("name.elsewhere: gpu1"));
}

// The window is always full where a queue takes it up: that is no reason for being slow.
TEST(SmallBuffers, ThatFillTheLinkAreWell) {
  Cluster cluster = of_unknown_rate(3);
  cluster.host_facts(1).receive_buffer_bytes = 65'536;
  cluster.receiving(1, [](PathResult& path) { path.window_share = 0.95F; });
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
}

}  // namespace
}  // namespace chokepoint::preflight
