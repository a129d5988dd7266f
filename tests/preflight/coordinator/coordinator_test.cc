#include "preflight/coordinator/coordinator.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/preflight/coordinator/led.h"

namespace chokepoint::preflight {
namespace {

using std::chrono::seconds;

TEST(Lead, every_pair_is_measured_each_way) {
  FakeAgents agents(5);
  const Measured measured = led(agents, wanted_of(5));
  ASSERT_EQ(measured.pairs.size(), 10U);
  EXPECT_TRUE(std::ranges::all_of(measured.pairs, is_whole));
  EXPECT_TRUE(std::ranges::is_sorted(
      measured.pairs, {}, [](const PairResult& each) { return std::pair(each.a, each.b); }));
  EXPECT_EQ(agents.count(TaskKind::Tcp), 20U + 2);  // and a cut of two pairs
  EXPECT_EQ(agents.faults, 0U);
  EXPECT_EQ(agents.on(), 0U);
  EXPECT_TRUE(measured.troubles.empty());
  EXPECT_TRUE(measured.left_out.empty());
  EXPECT_FALSE(measured.is_sampled);
  EXPECT_FALSE(measured.was_interrupted);
  EXPECT_EQ(measured.plan, "quick");
  EXPECT_GT(measured.duration_s, 5);
}

TEST(Lead, nothing_heavy_is_on_while_loss_is_looked_for) {
  FakeAgents agents(6);
  led(agents, wanted_of(6));
  const auto first_tcp = std::ranges::find(agents.asked, TaskKind::Tcp,
                                           [](const Asked& each) { return each.task.kind; });
  EXPECT_TRUE(std::none_of(first_tcp, agents.asked.end(), [](const Asked& each) {
    return each.task.kind == TaskKind::Loss || each.task.kind == TaskKind::Latency;
  }));
}

TEST(Lead, what_hosts_tell_of_themselves_is_kept) {
  FakeAgents agents(2);
  const Measured measured = led(agents, wanted_of(2));
  const HostResult& host = measured.hosts[1];
  EXPECT_EQ(host.presence, Presence::Present);
  EXPECT_EQ(host.address, "10.0.0.2");
  EXPECT_EQ(host.program, "chokepoint");
  ASSERT_EQ(host.doctor.size(), 1U);
  EXPECT_EQ(host.doctor.front().status, checks::Status::Warning);
  ASSERT_EQ(host.names.size(), 2U);
  EXPECT_EQ(host.names[1].asked, 1U);
  EXPECT_EQ(host.facts->host, "h1");
}

TEST(Lead, addresses_are_no_names_to_look_up) {
  FakeAgents agents(2);
  coordinator::Wanted wanted = wanted_of(2);
  wanted.hosts[0].name = "10.0.0.1";
  led(agents, wanted);
  for (const Asked& each : agents.asked) {
    if (each.task.kind == TaskKind::Names) {
      EXPECT_EQ(each.task.hosts, (std::vector<std::string>{"h1"}));
    }
  }
  EXPECT_EQ(agents.count(TaskKind::Names), 2U);
}

TEST(Lead, clocks_are_compared_by_the_time_of_day) {
  FakeAgents agents(2);
  const Measured measured = led(agents, wanted_of(2));
  // The monotonic clocks are 5 s apart, the times of day 1 s more.
  EXPECT_FLOAT_EQ(measured.pairs[0].clock_offset_ms.value(), 6000);
  agents.asked.clear();
  FakeAgents silent(2);
  silent.change_facts = [](HostFacts& facts) { facts.wall_less_monotonic_ms.reset(); };
  EXPECT_FALSE(led(silent, wanted_of(2)).pairs[0].clock_offset_ms);
}

// Host h has fd00::<h> beside its address.
void add_ipv6(HostFacts& facts) {
  facts.interfaces[0].addresses.push_back("fd00::" + facts.host.substr(1));
  facts.interfaces[0].networks.emplace_back("fd00::/64");
}

TEST(Lead, the_other_family_is_tried_where_both_have_it) {
  FakeAgents agents(3);
  agents.change_facts = add_ipv6;
  agents.answer = [](const Asked& asked) -> std::optional<Result<control::Json>> {
    if (asked.task.peer == "fd00::2") {
      return fail(asked.host == 0 ? ErrorKind::Io : ErrorKind::Refused, "", "probe latency",
                  asked.host == 0 ? "what was refused is not the connection" : "nothing listens");
    }
    return std::nullopt;
  };
  const Measured measured = led(agents, wanted_of(3));
  EXPECT_EQ(measured.pairs[0].ipv6, FamilyState::Works);
  EXPECT_EQ(measured.pairs[1].ipv6, FamilyState::Fails);
  EXPECT_EQ(measured.pairs[2].ipv6, FamilyState::Absent);
  EXPECT_EQ(measured.pairs[0].ipv4, FamilyState::Works);
  EXPECT_TRUE(measured.troubles.empty());
}

TEST(Lead, loss_is_looked_for_at_a_rate_that_fills_no_port) {
  FakeAgents agents(2);
  agents.change_facts = [](HostFacts& facts) { facts.interfaces[0].speed_mbps = 100; };
  led(agents, wanted_of(2));
  for (const Asked& each : agents.asked) {
    if (each.task.kind == TaskKind::Loss) {
      EXPECT_DOUBLE_EQ(each.task.rate_bits_per_s, 5e6);
    }
  }
}

TEST(Lead, a_slow_round_trip_is_looked_at_twice) {
  for (const bool stays : {false, true}) {
    FakeAgents agents(4);
    std::size_t seen = 0;
    agents.answer = [&](const Asked& asked) -> std::optional<Result<control::Json>> {
      if (asked.task.kind != TaskKind::Latency || asked.host != 0 ||
          asked.task.peer != FakeAgents::address(3) || (++seen > 1 && !stays)) {
        return std::nullopt;
      }
      control::Json slow = document_for(asked.task);
      slow["idle_ms"]["median"] = 30.0;
      return slow;
    };
    const Measured measured = led(agents, wanted_of(4));
    EXPECT_EQ(seen, 2U);
    EXPECT_FLOAT_EQ(measured.pairs[2].rtt_ms.value(), stays ? 30.0F : 0.2F);
    EXPECT_EQ(agents.count(TaskKind::Latency), 7U);
    EXPECT_EQ(agents.faults, 0U);
  }
}

TEST(Lead, suspects_are_tested_again_alone) {
  FakeAgents agents(6);
  const Measured measured =
      led(agents, wanted_of(6), {.suspects = [](const Measured&) -> std::vector<coordinator::Pair> {
            return {{4, 1}, {2, 3}};
          }});
  EXPECT_EQ(measured.pairs[0].there.alone_mbps, std::nullopt);
  const auto pair = std::ranges::find_if(
      measured.pairs, [](const PairResult& each) { return each.a == 1 && each.b == 4; });
  EXPECT_TRUE(pair->back.alone_mbps);
  EXPECT_FALSE(pair->there.alone_mbps);
  const auto again = std::ranges::count_if(agents.asked, [](const Asked& each) {
    return each.task.kind == TaskKind::Tcp &&
           each.task.time == coordinator::effort_named("quick")->again;
  });
  EXPECT_EQ(again, 2);
  EXPECT_EQ(agents.faults, 0U);
}

// By TCP where small packets show nothing; no more pairs than the plan has.
TEST(Lead, flows_of_a_pair_are_compared) {
  FakeAgents agents(4);
  const Measured measured =
      led(agents, wanted_of(4), {.bundles = [](const Measured&) -> std::vector<coordinator::Pair> {
            return {{3, 1}, {0, 2}};
          }});
  ASSERT_EQ(measured.bundles.size(), 1U);
  const BundleResult& bundle = measured.bundles[0];
  EXPECT_EQ(bundle.verdict, "alike");
  ASSERT_EQ(bundle.bad.size(), 1U);
  EXPECT_EQ(bundle.bad[0].fault, MemberFault::Rate);
  EXPECT_EQ(std::pair(bundle.bad[0].from, bundle.bad[0].to), std::pair(3U, 1U));
  EXPECT_EQ(bundle.bad[0].ports, std::vector<std::uint16_t>{40'001});
  EXPECT_EQ(agents.count(TaskKind::Flows), 1U);
  EXPECT_EQ(agents.count(TaskKind::Rates), 1U);
  EXPECT_EQ(agents.faults, 0U);
}

// As an agent of an older version, which does not know the task: no trouble of that pair.
TEST(Lead, flows_that_cannot_be_compared_are_left_out) {
  FakeAgents agents(3);
  agents.answer = [](const Asked& asked) -> std::optional<Result<control::Json>> {
    return asked.task.kind == TaskKind::Flows
               ? std::optional<Result<control::Json>>(fail(ErrorKind::Usage, "", "task", "kind"))
               : std::nullopt;
  };
  const Measured measured =
      led(agents, wanted_of(3),
          {.bundles = [](const Measured&) -> std::vector<coordinator::Pair> { return {{0, 1}}; }});
  EXPECT_TRUE(measured.bundles.empty());
  EXPECT_TRUE(measured.troubles.empty());
  ASSERT_EQ(measured.left_out.size(), 1U);
  EXPECT_TRUE(measured.left_out[0].contains("were not compared")) << measured.left_out[0];
}

TEST(Lead, suspects_that_are_none_are_left_alone) {
  FakeAgents agents(3);
  const Measured measured = led(agents, wanted_of(3), {.suspects = [](const Measured&) {
                                  return std::vector<coordinator::Pair>{{0, 77}, {77, 78}, {1, 1}};
                                }});
  EXPECT_EQ(agents.faults, 0U);
  EXPECT_TRUE(measured.left_out.empty());
}

TEST(Lead, no_more_suspects_than_there_is_time_for) {
  FakeAgents agents(3);
  const Measured measured =
      led(agents, wanted_of(3), {.suspects = [](const Measured&) {
            return std::vector<coordinator::Pair>(50, coordinator::Pair{2, 0});
          }});
  ASSERT_EQ(measured.left_out.size(), 1U);
  EXPECT_EQ(measured.left_out[0], "44 of 50 paths that looked slow were not tested again, alone");
}

// Each of them would take its whole bound.
TEST(Lead, what_would_only_hang_is_not_tested) {
  FakeAgents agents(4);
  agents.answer = [](const Asked& asked) -> std::optional<Result<control::Json>> {
    if (asked.task.kind != TaskKind::Path || asked.task.peer != FakeAgents::address(3)) {
      return std::nullopt;
    }
    control::Json hole = document_for(asked.task);
    hole["families"]["ipv4"]["forward"]["mtu"]["black_hole_from_bytes"] = 1501;
    return hole;
  };
  const Measured measured = led(agents, wanted_of(4));
  EXPECT_FALSE(measured.pairs[2].there.tcp_mbps);
  EXPECT_TRUE(measured.pairs[2].back.tcp_mbps);
  EXPECT_TRUE(measured.pairs[0].there.tcp_mbps);
  EXPECT_FALSE(measured.left_out.empty());
  EXPECT_EQ(measured.collective.value().ranks, 3);
}

TEST(Lead, everything_is_on_at_once_across_the_halves) {
  FakeAgents agents(4);
  const Measured measured = led(agents, wanted_of(4));
  ASSERT_EQ(measured.cuts.size(), 1U);
  const CutResult& cut = measured.cuts[0];
  EXPECT_EQ(cut.left, (std::vector<HostIndex>{0, 1}));
  EXPECT_EQ(cut.paths.size(), 4U);
  EXPECT_DOUBLE_EQ(cut.together_mbps, 2 * (400.0 + 300.0));
  EXPECT_DOUBLE_EQ(cut.alone_mbps.value(), 4 * 940.0);
  EXPECT_FLOAT_EQ(measured.pairs[1].there.together_mbps.value(), 400);
  EXPECT_EQ(agents.asked[agents.asked.size() - 2].beside, 1U);
}

TEST(Lead, a_cut_is_where_the_judgement_wants_it) {
  FakeAgents agents(5);
  const Measured measured =
      led(agents, wanted_of(5), {.cuts = [](const Measured&) {
            return std::vector<coordinator::Cut>{{.left = {3, 0, 3}, .right = {4, 1, 0, 99}}};
          }});
  ASSERT_EQ(measured.cuts.size(), 1U);
  EXPECT_EQ(measured.cuts[0].left, (std::vector<HostIndex>{3, 0}));
  EXPECT_EQ(measured.cuts[0].right, (std::vector<HostIndex>{4, 1}));
  EXPECT_EQ(agents.faults, 0U);
}

TEST(Lead, rdma_is_tested_where_both_have_it) {
  FakeAgents agents(3);
  agents.change_facts = [](HostFacts& facts) {
    if (facts.host != "h1") {
      facts.rdma.push_back({.device = "mlx5_0", .is_active = true});
    }
  };
  const Measured measured = led(agents, wanted_of(3));
  EXPECT_EQ(agents.count(TaskKind::RdmaBandwidth), 2U);
  EXPECT_EQ(agents.count(TaskKind::RdmaLatency), 1U);
  EXPECT_FLOAT_EQ(measured.pairs[1].there.rdma_mbps.value(), 90'000);
  EXPECT_TRUE(measured.pairs[1].back.rdma_mbps);
  EXPECT_FLOAT_EQ(measured.pairs[1].rdma_latency_us.value(), 1.5F);
  EXPECT_FALSE(measured.pairs[0].there.rdma_mbps);
}

TEST(Lead, the_first_host_leads_the_collective) {
  FakeAgents agents(4);
  agents.absent[0] = Presence::NoAgent;
  const Measured measured = led(agents, wanted_of(4));
  EXPECT_EQ(agents.asked.back().host, 1U);
  EXPECT_EQ(agents.asked.back().task.hosts,
            (std::vector<std::string>{"10.0.0.2", "10.0.0.3", "10.0.0.4"}));
  EXPECT_EQ(measured.collective.value().ranks, 3);
  EXPECT_DOUBLE_EQ(measured.collective->bus_mbps.value(), 800);
}

TEST(Lead, agents_of_a_collective_are_found_at_ports_of_their_own) {
  FakeAgents agents(2);
  coordinator::Wanted wanted = wanted_of(2);
  wanted.hosts[1].port = 5300;
  led(agents, wanted);
  const auto asked = std::ranges::find(agents.asked, TaskKind::Collective,
                                       [](const Asked& each) { return each.task.kind; });
  ASSERT_NE(asked, agents.asked.end());
  EXPECT_EQ(asked->task.port, wanted.hosts[0].port);
  EXPECT_EQ(asked->task.hosts, (std::vector<std::string>{"10.0.0.1", "10.0.0.2:5300"}));
}

TEST(Lead, a_collective_that_fails_is_no_pairs_trouble) {
  FakeAgents agents(2);
  agents.answer = [](const Asked& asked) -> std::optional<Result<control::Json>> {
    if (asked.task.kind == TaskKind::Collective) {
      return fail(ErrorKind::Io, "", "collective", "rank 1 was lost");
    }
    return std::nullopt;
  };
  const Measured measured = led(agents, wanted_of(2));
  EXPECT_EQ(measured.collective.value().error.value().reason, "rank 1 was lost");
  EXPECT_TRUE(measured.troubles.empty());
}

TEST(Lead, hosts_without_gloo_are_told) {
  FakeAgents agents(3);
  agents.change_facts = [](HostFacts& facts) { facts.has_gloo = facts.host != "h2"; };
  const Measured measured = led(agents, wanted_of(3));
  EXPECT_EQ(measured.collective.value().ranks, 2);
  EXPECT_EQ(measured.left_out.at(0), "1 of 3 hosts in the collective: they have no libgloo");
}

TEST(Lead, a_large_cluster_is_sampled) {
  FakeAgents agents(60);
  const Measured measured = led(agents, wanted_of(60));
  EXPECT_TRUE(measured.is_sampled);
  EXPECT_EQ(measured.pairs.size(), 15U * 30);
  EXPECT_TRUE(std::ranges::all_of(measured.pairs, is_whole));
  EXPECT_EQ(agents.faults, 0U);
}

TEST(Lead, a_time_limit_bounds_all_of_it) {
  for (const int limit : {1, 5, 15, 40}) {
    FakeAgents agents(12);
    coordinator::Wanted wanted = wanted_of(12, "default");
    wanted.limit = seconds(limit);
    const Measured measured = led(agents, wanted);
    EXPECT_LE(measured.duration_s, limit + 0.1);
    EXPECT_TRUE(measured.is_sampled);
    EXPECT_EQ(agents.on(), 0U);
    EXPECT_EQ(agents.faults, 0U);
    EXPECT_FALSE(measured.was_interrupted);
  }
}

TEST(Lead, what_a_time_limit_leaves_out_is_told) {
  FakeAgents agents(4);
  coordinator::Wanted wanted = wanted_of(4);
  wanted.limit = seconds(6);
  const Measured measured = led(agents, wanted);
  EXPECT_FALSE(measured.left_out.empty());
}

TEST(Lead, progress_never_goes_back_but_for_what_was_not_foreseen) {
  FakeAgents agents(6);
  std::vector<coordinator::Progress> told;
  coordinator::run_preflight(
      agents, wanted_of(6), {}, agents.clock,
      [&](const coordinator::Progress& progress) { told.push_back(progress); });
  ASSERT_GT(told.size(), 30U);
  EXPECT_TRUE(std::ranges::is_sorted(told, {}, &coordinator::Progress::share));
  EXPECT_LE(told.back().share, 1);
  EXPECT_GT(told.back().share, 0.8);
  EXPECT_GT(told.front().left, seconds(10));
  EXPECT_EQ(told.front().doing, "calling the hosts");
}

}  // namespace
}  // namespace chokepoint::preflight
