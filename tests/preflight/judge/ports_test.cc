// Ports, cables and ways that are slow or lose packets: who is named, and that nobody else is.

#include <fmt/format.h>

#include "preflight/judge/retest_candidates.h"
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
  cluster.path(2, 1, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: from gpu2 to gpu1"));
}

TEST_P(Clusters, NameTheCableThatLosesOneWay) {
  for (std::uint64_t seed = 51; seed <= 100; ++seed) {
    Cluster cluster({.hosts = GetParam(), .seed = seed});
    cluster.receiving(2, cluster.loses(0.5));
    EXPECT_THAT(troubles_of(cluster), ElementsAre("link.loss: gpu2 eth0, receiving"))
        << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(OfHosts, Clusters, testing::Values(3, 4, 8, 16, 64),
                         [](const auto& one) { return fmt::format("Of{}", one.param); });

class LargerClusters : public testing::TestWithParam<std::size_t> {};

TEST_P(LargerClusters, TellTwoFaultsApart) {
  Cluster cluster({.hosts = GetParam()});
  cluster.sending(1, Cluster::slower(10));
  cluster.all_of(3, cluster.loses(0.5));
  EXPECT_THAT(troubles_of(cluster),
              UnorderedElementsAre("link.oneway: gpu1 eth0, sending", "link.loss: gpu3 eth0"));
}

TEST_P(LargerClusters, TellTwoSlowPortsApart) {
  Cluster cluster({.hosts = GetParam()});
  cluster.all_of(1, Cluster::slower(10));
  cluster.all_of(3, Cluster::slower(4));
  EXPECT_THAT(troubles_of(cluster),
              UnorderedElementsAre("link.rate: gpu1 eth0", "link.rate: gpu3 eth0"));
}

TEST_P(LargerClusters, TellASenderFromAReceiver) {
  Cluster cluster({.hosts = GetParam()});
  cluster.sending(0, Cluster::slower(10));
  cluster.receiving(2, Cluster::slower(5));
  EXPECT_THAT(troubles_of(cluster), UnorderedElementsAre("link.oneway: gpu0 eth0, sending",
                                                         "link.oneway: gpu2 eth0, receiving"));
}

TEST_P(LargerClusters, NameThePairWhoseOwnCableLoses) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster({.hosts = GetParam(), .packets = 4000, .seed = seed});
    cluster.path(1, 2, cluster.loses(0.5));
    cluster.path(2, 1, cluster.loses(0.5));
    EXPECT_THAT(troubles_of(cluster), ElementsAre("link.loss: between gpu1 and gpu2"))
        << "seed " << seed;
  }
}

TEST_P(LargerClusters, NameTheSlowPair) {
  Cluster cluster({.hosts = GetParam()});
  cluster.path(1, 2, Cluster::slower(10));
  cluster.path(2, 1, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.rate: between gpu1 and gpu2"));
}

TEST_P(LargerClusters, NameThePortThoughNoPortTellsItsRate) {
  Cluster cluster({.hosts = GetParam(), .speed_mbps = std::nullopt});
  cluster.all_of(1, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.rate: gpu1 eth0"));
}

INSTANTIATE_TEST_SUITE_P(OfHosts, LargerClusters, testing::Values(4, 8, 16, 64),
                         [](const auto& one) { return fmt::format("Of{}", one.param); });

TEST(TwoHosts, AreWell) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_THAT(troubles_of(Cluster({.hosts = 2, .seed = seed})), IsEmpty());
  }
}

TEST(TwoHosts, CannotTellAtWhichEndItIs) {
  Cluster cluster({.hosts = 2});
  cluster.path(0, 1, Cluster::slower(10));
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  const Finding finding = only(judgement, "link.oneway");
  EXPECT_THAT(finding.hosts, ElementsAre(0, 1));
  EXPECT_THAT(finding.check.why, testing::HasSubstr("not known at which end"));
  EXPECT_THAT(finding.check.next_step, testing::HasSubstr("swap the cable"));
}

TEST(TwoHosts, HearFromDoctorAtWhichEndItIs) {
  Cluster cluster({.hosts = 2, .packets = 4000});
  cluster.path(0, 1, cluster.loses(0.5));
  cluster.path(1, 0, cluster.loses(0.5));
  cluster.host(1).doctor.push_back({.id = "nic.errors",
                                    .status = checks::Status::Warning,
                                    .subject = "eth0",
                                    .found = "4000 received wrong"});
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.loss: between gpu0 and gpu1"));
  const Finding finding = only(judge(cluster.measured(), {}, nullptr), "link.loss");
  EXPECT_THAT(finding.check.why, testing::HasSubstr("doctor on gpu1: nic.errors 4000"));
}

TEST(TwoHosts, OfUnknownRateTellAOneWayFault) {
  Cluster cluster({.hosts = 2, .speed_mbps = std::nullopt});
  cluster.path(1, 0, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: from gpu1 to gpu0"));
}

TEST(ThreeHosts, OfUnknownRateTellTheSlowOne) {
  Cluster cluster({.hosts = 3, .speed_mbps = std::nullopt});
  cluster.all_of(2, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.rate: gpu2 eth0"));
}

TEST(Everybody, SlowAgainstTheHardwareIsOneFinding) {
  Cluster cluster({.hosts = 8});
  for (HostIndex host = 0; host < 8; ++host) {
    cluster.sending(host, Cluster::slower(10));
  }
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.rate: cluster"));
}

TEST(Everybody, LosingIsOneFinding) {
  Cluster cluster({.hosts = 8});
  for (HostIndex host = 0; host < 8; ++host) {
    cluster.sending(host, cluster.loses(0.3));
  }
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.loss: cluster"));
}

TEST(MixedPorts, AreWell) {
  Cluster cluster({.hosts = 8, .speed_mbps = 25'000});
  for (HostIndex host = 0; host < 4; ++host) {
    cluster.port(host).speed_mbps = 10'000;
  }
  cluster.each([](HostIndex from, HostIndex to, PathResult& path) {
    if (from < 4 || to < 4) {
      path.tcp_mbps = *path.tcp_mbps * 0.4F;
    }
  });
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
}

TEST(Limits, NameThePortThatCameUpSlower) {
  Cluster cluster({.hosts = 8});
  cluster.port(5).speed_mbps = 1000;
  cluster.all_of(5, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster, {.link_rate_mbps = 10'000}),
              ElementsAre("port.speed: gpu5 eth0"));
}

TEST(Limits, StandInForPortsThatDoNotKnow) {
  Cluster cluster({.hosts = 2, .speed_mbps = std::nullopt});
  cluster.path(0, 1, Cluster::slower(1.6));
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
  EXPECT_THAT(troubles_of(cluster, {.host_rates = {{"gpu*", 10'000}}}),
              ElementsAre("link.oneway: from gpu0 to gpu1"));
}

TEST(SampledPlan, NamesThePort) {
  Cluster cluster({.hosts = 64, .peers = 12});
  cluster.sending(17, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: gpu17 eth0, sending"));
}

TEST(SampledPlan, NamesTheWay) {
  Cluster cluster({.hosts = 64, .peers = 12});
  cluster.path(17, 18, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: from gpu17 to gpu18"));
}

TEST(SampledPlan, NamesTheCableThatLoses) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster({.hosts = 64, .peers = 12, .seed = seed});
    cluster.all_of(40, cluster.loses(0.5));
    EXPECT_THAT(troubles_of(cluster), ElementsAre("link.loss: gpu40 eth0")) << "seed " << seed;
  }
}

// A hiccup: some packets of one way, on a cluster that is well.
TEST(Loss, AFewStrayPacketsAreNoFinding) {
  for (std::uint32_t lost = 1; lost <= 2; ++lost) {
    Cluster cluster({.hosts = 8});
    cluster.path(3, 4, [&](PathResult& path) { path.lost += lost; });
    cluster.path(5, 6, [&](PathResult& path) { path.lost += lost; });
    EXPECT_THAT(troubles_of(cluster), IsEmpty()) << lost;
  }
}

TEST(Loss, ExplainsWhatItSlowsDown) {
  Cluster cluster({.hosts = 8});
  cluster.all_of(2, cluster.loses(0.5));
  cluster.all_of(2, Cluster::slower(3));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.loss: gpu2 eth0"));
}

// One machine plays all hosts: rates are what its processors make of them, and far faster alone.
class OneMachine : public testing::TestWithParam<std::size_t> {
 protected:
  Cluster made(std::uint64_t seed) const {
    Cluster cluster({.hosts = GetParam(), .speed_mbps = std::nullopt, .noise = 0.5, .seed = seed});
    cluster.each([](HostIndex, HostIndex, PathResult& path) {
      path.sender_cpu_percent = path.receiver_cpu_percent = 97;
    });
    for (const auto& [from, to] : suspects(cluster.measured(), {}, 2 * GetParam())) {
      cluster.path(from, to, [](PathResult& path) { path.alone_mbps = 30'000; });
    }
    CutResult cut{.together_mbps = 21'000,
                  .alone_mbps = 30'000.0 * static_cast<double>(GetParam() / 2)};
    for (HostIndex host = 0; host + 1 < GetParam(); host += 2) {
      cut.paths.emplace_back(host, host + 1);
    }
    cluster.measured().cuts.push_back(cut);
    return cluster;
  }
};

TEST_P(OneMachine, IsWellInTwentyRuns) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_THAT(troubles_of(made(seed)), IsEmpty()) << "seed " << seed;
  }
}

TEST_P(OneMachine, StillNamesTheSlowPort) {
  for (std::uint64_t seed = 21; seed <= 40; ++seed) {
    Cluster cluster = made(seed);
    cluster.sending(1, [](PathResult& path) { path.tcp_mbps = path.alone_mbps = 95; });
    EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: gpu1 eth0, sending"))
        << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(OfHosts, OneMachine, testing::Values(3, 4, 8),
                         [](const auto& one) { return fmt::format("Of{}", one.param); });

}  // namespace
}  // namespace chokepoint::preflight
