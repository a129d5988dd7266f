// MTUs, buffers, processors, round trips, families: what suffers and by whom.

#include "tests/preflight/judge/judged.h"

namespace chokepoint::preflight {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What a host with packets of 1500 does to the others' of 9000.
void give_small_mtu(Cluster& cluster, HostIndex host) {
  cluster.port(host).mtu = 1500;
  cluster.sending(host, [](PathResult& path) { path.mtu_bytes = 1500; });
  cluster.receiving(host, [](PathResult& path) {
    path.mtu_bytes = 1500;
    path.black_hole_bytes = 1501;
  });
}

TEST(Mtu, OfOneHostAmongLargerOnes) {
  Cluster cluster({.hosts = 8, .mtu = 9000});
  give_small_mtu(cluster, 3);
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement), ElementsAre("link.mtu: gpu3 eth0"));
  const Finding finding = only(judgement, "link.mtu");
  EXPECT_EQ(finding.check.found, "MTU 1500");
  EXPECT_EQ(finding.check.next_step, "ssh gpu3 'ip link set dev eth0 mtu 9000'");
}

TEST(Mtu, OfTwoHosts) {
  Cluster cluster({.hosts = 2, .mtu = 9000});
  give_small_mtu(cluster, 1);
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.mtu: gpu1 eth0"));
}

TEST(Mtu, ByTheLimits) {
  Cluster cluster({.hosts = 4, .mtu = 1500});
  EXPECT_THAT(troubles_of(cluster, {.mtu_bytes = 9000}),
              ElementsAre("link.mtu: gpu0, gpu1, gpu2, gpu3"));
}

TEST(Mtu, OfDifferentNetworksMayDiffer) {
  Cluster cluster({.hosts = 4, .mtu = 9000});
  for (const HostIndex host : {2U, 3U}) {
    cluster.port(host).networks = {"10.1.0.0/16"};
    cluster.port(host).mtu = 1500;
    cluster.all_of(host, [](PathResult& path) { path.mtu_bytes = 1500; });
  }
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
}

TEST(Mtu, OfASwitchPortThatSwallowsLargePackets) {
  Cluster cluster({.hosts = 8, .mtu = 9000});
  cluster.all_of(6, [](PathResult& path) {
    path.mtu_bytes = 1500;
    path.black_hole_bytes = 1501;
  });
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.mtu: gpu6 eth0"));
}

TEST(Mtu, OfASwitchThatSwallowsAllLargePackets) {
  Cluster cluster({.hosts = 8, .mtu = 9000});
  cluster.each([](HostIndex, HostIndex, PathResult& path) {
    path.mtu_bytes = 1500;
    path.black_hole_bytes = 1501;
  });
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.mtu: cluster"));
}

// A host's buffers of 512 KiB, over 15 ms: 140 Mb/s to it, 186 Mb/s from it.
void give_small_buffers(Cluster& cluster, HostIndex host) {
  cluster.host_facts(host).receive_buffer_bytes = 512 << 10;
  cluster.host_facts(host).send_buffer_bytes = 512 << 10;
  cluster.receiving(host, [](PathResult& path) {
    path.tcp_mbps = 138;
    path.window_share = 0.93F;
    path.limit = TcpLimit::ReceiveWindow;
    path.largest_window_bytes = 262'144;
  });
  cluster.sending(host, [](PathResult& path) {
    path.tcp_mbps = 181;
    path.send_buffer_share = 0.8F;
    path.limit = TcpLimit::SendBuffer;
  });
}

TEST(Windows, OfAHostWithSmallBuffersOnALongPath) {
  Cluster cluster({.hosts = 8, .speed_mbps = 1000, .rtt_ms = 15});
  give_small_buffers(cluster, 4);
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement),
              ElementsAre("path.window: gpu4 net.ipv4.tcp_rmem, net.ipv4.tcp_wmem"));
  EXPECT_THAT(only(judgement, "path.window").check.next_step,
              HasSubstr("ssh gpu4 'sysctl -w net.ipv4.tcp_rmem='\\''4096 131072 4194304'\\''"));
}

TEST(Windows, OfOneSmallBufferWhereNoPortTellsItsRate) {
  Cluster cluster({.hosts = 4, .speed_mbps = std::nullopt, .rtt_ms = 15});
  give_small_buffers(cluster, 1);
  EXPECT_THAT(troubles_of(cluster),
              ElementsAre("path.window: gpu1 net.ipv4.tcp_rmem, net.ipv4.tcp_wmem"));
}

// As a kernel gave it: four times the window that the buffer stands for.
TEST(Windows, OfABufferThatLetsMoreThroughThanItStandsFor) {
  Cluster cluster({.hosts = 4, .speed_mbps = std::nullopt, .rtt_ms = 15});
  give_small_buffers(cluster, 3);
  cluster.host_facts(3).receive_buffer_bytes = cluster.host_facts(3).send_buffer_bytes = 39'477;
  cluster.receiving(3, [](PathResult& path) { path.tcp_mbps = path.alone_mbps = 30; });
  cluster.sending(3, [](PathResult& path) { path.tcp_mbps = path.alone_mbps = 40; });
  EXPECT_THAT(troubles_of(cluster),
              ElementsAre("path.window: gpu3 net.ipv4.tcp_rmem, net.ipv4.tcp_wmem"));
}

TEST(Windows, OfTwoHosts) {
  Cluster cluster({.hosts = 2, .speed_mbps = std::nullopt, .rtt_ms = 15});
  give_small_buffers(cluster, 0);
  EXPECT_THAT(troubles_of(cluster),
              ElementsAre("path.window: gpu0 net.ipv4.tcp_rmem, net.ipv4.tcp_wmem"));
}

TEST(Windows, OfAllHostsAreOneFinding) {
  Cluster cluster({.hosts = 4, .speed_mbps = 1000, .rtt_ms = 15});
  for (HostIndex host = 0; host < 4; ++host) {
    give_small_buffers(cluster, host);
  }
  cluster.each([](HostIndex, HostIndex, PathResult& path) {
    path.tcp_mbps = 138;
    path.window_share = 0.9F;
    path.send_buffer_share = 0.05F;
  });
  EXPECT_THAT(troubles_of(cluster),
              ElementsAre("path.window: gpu0, gpu1, gpu2, gpu3 net.ipv4.tcp_rmem"));
}

// The kernel makes more window of a buffer than half where packets are large.
TEST(Windows, OfABufferWhoseWindowWasSeen) {
  Cluster cluster({.hosts = 4, .speed_mbps = std::nullopt, .rtt_ms = 15});
  cluster.host_facts(1).receive_buffer_bytes = 47'175;
  cluster.receiving(1, [](PathResult& path) {
    path.tcp_mbps = path.alone_mbps = 35;
    path.window_share = 1.0F;
    path.limit = TcpLimit::ReceiveWindow;
    path.largest_window_bytes = 65'535;
  });
  EXPECT_THAT(troubles_of(cluster), ElementsAre("path.window: gpu1 net.ipv4.tcp_rmem"));
}

// A whole chunk goes into a buffer that has any room left.
TEST(Windows, OfASmallSendBuffer) {
  Cluster cluster({.hosts = 4, .speed_mbps = std::nullopt, .rtt_ms = 15});
  cluster.host_facts(1).send_buffer_bytes = 36'225;
  cluster.sending(1, [](PathResult& path) {
    path.tcp_mbps = path.alone_mbps = 55;
    path.send_buffer_share = 0.7F;
    path.limit = TcpLimit::SendBuffer;
  });
  EXPECT_THAT(troubles_of(cluster), ElementsAre("path.window: gpu1 net.ipv4.tcp_wmem"));
}

// A receiver that does not drain holds the window, too: its buffer would allow for more.
TEST(Windows, AreNotToBlameWhereTheBufferIsAmple) {
  Cluster cluster({.hosts = 8});
  cluster.receiving(5, [](PathResult& path) {
    path.tcp_mbps = 2000;
    path.window_share = 0.8F;
    path.receiver_cpu_percent = 99;
    path.limit = TcpLimit::ReceiverCpu;
  });
  EXPECT_THAT(troubles_of(cluster), ElementsAre("host.cpu: gpu5"));
}

TEST(Processors, OfOneHostBothWays) {
  Cluster cluster({.hosts = 8});
  cluster.receiving(2, [](PathResult& path) {
    path.tcp_mbps = path.alone_mbps = 3000;
    path.receiver_cpu_percent = 98;
  });
  cluster.sending(2, [](PathResult& path) {
    path.tcp_mbps = path.alone_mbps = 4000;
    path.sender_cpu_percent = 97;
  });
  EXPECT_THAT(troubles_of(cluster), ElementsAre("host.cpu: gpu2"));
}

// Where one machine plays all hosts, all its cores are busy: the slow port is slow all the same.
TEST(Processors, BusyEverywhereDoNotHideASlowPort) {
  Cluster cluster({.hosts = 8});
  cluster.each([](HostIndex, HostIndex, PathResult& path) {
    path.sender_cpu_percent = path.receiver_cpu_percent = 97;
  });
  cluster.sending(1, Cluster::slower(10));
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.oneway: gpu1 eth0, sending"));
}

TEST(Wan, BetweenTwoSitesIsWell) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster({.hosts = 8, .seed = seed});
    cluster.each_pair([](PairResult& pair) {
      if ((pair.a < 4) != (pair.b < 4)) {
        pair.rtt_ms = pair.rtt_min_ms = 15;
        pair.there.tcp_mbps = *pair.there.tcp_mbps / 5;
        pair.back.tcp_mbps = *pair.back.tcp_mbps / 5;
      }
    });
    EXPECT_THAT(troubles_of(cluster), IsEmpty()) << "seed " << seed;
  }
}

TEST(Wan, IsHeldAgainstItsOwnLimit) {
  Cluster cluster({.hosts = 8});
  cluster.each_pair([](PairResult& pair) {
    if ((pair.a < 4) != (pair.b < 4)) {
      pair.rtt_ms = pair.rtt_min_ms = 15;
      pair.there.tcp_mbps = pair.there.alone_mbps = 100;
      pair.back.tcp_mbps = pair.back.alone_mbps = 940;
    }
  });
  EXPECT_THAT(
      troubles_of(cluster, {.wan_rate_mbps = 1000}),
      ElementsAre("link.oneway: between gpu0, gpu1, gpu2, gpu3 and gpu4, gpu5, gpu6, gpu7"));
}

TEST(Latency, OfOneHost) {
  Cluster cluster({.hosts = 8});
  cluster.each_pair([](PairResult& pair) {
    if (pair.a == 2 || pair.b == 2) {
      pair.rtt_ms = 1.6F;
    }
  });
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.latency: gpu2 eth0"));
}

TEST(Latency, OfOnePairAmongManyAccusesNobody) {
  Cluster cluster({.hosts = 8});
  cluster.measured().pairs[3].rtt_ms = 12;
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
}

// Somebody else computes there: answers are late now and then, and rates are not what they could
// be.
Cluster with_taken_processors() {
  Cluster cluster({.hosts = 4, .speed_mbps = 1000});
  cluster.each([](HostIndex, HostIndex, PathResult& path) {
    path.sender_cpu_percent = path.receiver_cpu_percent = 100;
    path.limit = TcpLimit::Network;
  });
  return cluster;
}

TEST(TakenProcessors, AccuseNobodyOfALongRoundTrip) {
  Cluster cluster = with_taken_processors();
  for (PairResult& pair : cluster.measured().pairs) {
    if (pair.a == 2 || pair.b == 2) {
      pair.rtt_ms = 4.8F;
      pair.rtt_min_ms = 0.015F;
    }
  }
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
  for (PairResult& pair : cluster.measured().pairs) {
    pair.rtt_min_ms = pair.a == 2 || pair.b == 2 ? 1.5F : 0.015F;
  }
  EXPECT_THAT(troubles_of(cluster), ElementsAre(HasSubstr("link.latency: gpu2")));
}

TEST(TakenProcessors, AccuseNoLinkThatReachesHalf) {
  Cluster cluster = with_taken_processors();
  cluster.path(0, 2, [](PathResult& path) { path.tcp_mbps = path.alone_mbps = 690; });
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
  cluster.path(0, 2, [](PathResult& path) { path.tcp_mbps = path.alone_mbps = 95; });
  EXPECT_THAT(troubles_of(cluster), ElementsAre(HasSubstr("link.oneway")));
}

TEST(Families, OfOneHost) {
  Cluster cluster({.hosts = 8});
  cluster.each_pair([](PairResult& pair) {
    pair.ipv6 = pair.a == 5 || pair.b == 5 ? FamilyState::Fails : FamilyState::Works;
  });
  EXPECT_THAT(troubles_of(cluster), ElementsAre("link.families: gpu5 eth0"));
}

TEST(Families, ThatNobodyHasAreNoFinding) {
  Cluster cluster({.hosts = 8});
  cluster.each_pair([](PairResult& pair) { pair.ipv6 = FamilyState::Absent; });
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
}

}  // namespace
}  // namespace chokepoint::preflight
