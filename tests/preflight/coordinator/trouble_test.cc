// Hosts that do not come, go, fail, lie or say nothing; users who have enough of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/preflight/coordinator/led.h"

namespace chokepoint::preflight {
namespace {

using control::Json;

constexpr std::array kKinds{TaskKind::Doctor, TaskKind::Names, TaskKind::Latency,   TaskKind::Loss,
                            TaskKind::Path,   TaskKind::Tcp,   TaskKind::Collective};

bool is_of(const PairResult& pair, HostIndex host) { return pair.a == host || pair.b == host; }

std::size_t whole_without(const Measured& measured, HostIndex host) {
  return static_cast<std::size_t>(std::ranges::count_if(
      measured.pairs,
      [&](const PairResult& each) { return !is_of(each, host) && is_whole(each); }));
}

TEST(LeadTrouble, a_host_that_never_comes_holds_nobody_up_for_ever) {
  FakeAgents agents(4);
  agents.absent[2] = Presence::Lost;  // nothing is heard of it
  const Measured measured = led(agents, wanted_of(4));
  EXPECT_EQ(measured.hosts[2].presence, Presence::Unreachable);
  EXPECT_EQ(measured.hosts[2].error.value().kind, ErrorKind::Timeout);
  EXPECT_EQ(measured.pairs.size(), 3U);
  EXPECT_EQ(whole_without(measured, 2), 3U);
}

TEST(LeadTrouble, why_a_host_is_not_there_is_kept) {
  for (const Presence presence : {Presence::Unresolved, Presence::NoAgent, Presence::Refused}) {
    FakeAgents agents(3);
    agents.absent[0] = presence;
    const Measured measured = led(agents, wanted_of(3));
    EXPECT_EQ(measured.hosts[0].presence, presence);
    EXPECT_EQ(measured.hosts[0].error.value().reason, "no");
    EXPECT_EQ(measured.hosts[0].lost_during, "");
    EXPECT_EQ(measured.pairs.size(), 1U);
  }
}

TEST(LeadTrouble, nobody_is_there) {
  FakeAgents agents(3);
  for (HostIndex host = 0; host < 3; ++host) {
    agents.absent[host] = Presence::NoAgent;
  }
  const Measured measured = led(agents, wanted_of(3));
  EXPECT_TRUE(measured.pairs.empty());
  EXPECT_TRUE(agents.asked.empty());
  EXPECT_FALSE(measured.collective);
}

TEST(LeadTrouble, a_host_may_go_at_any_task) {
  for (const TaskKind kind : kKinds) {
    FakeAgents agents(5);
    const HostIndex leaver = kind == TaskKind::Collective ? 0 : 2;
    agents.goes = [&](const Asked& asked) {
      return asked.host == leaver && asked.task.kind == kind;
    };
    const Measured measured = led(agents, wanted_of(5));
    EXPECT_EQ(measured.hosts[leaver].presence, Presence::Lost) << name_of(kind);
    EXPECT_NE(measured.hosts[leaver].lost_during.find(name_of(kind)), std::string::npos)
        << measured.hosts[leaver].lost_during;
    EXPECT_EQ(whole_without(measured, leaver), 6U) << name_of(kind);
    EXPECT_TRUE(measured.troubles.empty());
    EXPECT_EQ(agents.faults, 0U) << name_of(kind);
    EXPECT_EQ(agents.on(), 0U);
  }
}

TEST(LeadTrouble, what_was_measured_of_a_host_that_goes_stays) {
  FakeAgents agents(4);
  agents.goes = [](const Asked& asked) {
    return asked.host == 3 && asked.task.kind == TaskKind::Tcp;
  };
  const Measured measured = led(agents, wanted_of(4));
  for (const PairResult& pair : measured.pairs) {
    EXPECT_TRUE(pair.rtt_ms);
  }
  EXPECT_EQ(measured.hosts[3].doctor.size(), 1U);
  EXPECT_EQ(measured.hosts[3].lost_during.substr(0, 11), "tcp from h3");
}

// The test with it fails first, and only then its own connection.
TEST(LeadTrouble, what_fails_because_somebody_goes_is_no_trouble) {
  FakeAgents agents(3);
  agents.answer = [&](const Asked& asked) -> std::optional<Result<Json>> {
    if (asked.task.kind == TaskKind::Tcp && asked.task.peer == FakeAgents::address(2)) {
      return fail(ErrorKind::Refused, "", "h2", "connection reset");
    }
    return std::nullopt;
  };
  agents.goes = [](const Asked& asked) {
    return asked.host == 2 && asked.task.kind == TaskKind::Tcp;
  };
  const Measured measured = led(agents, wanted_of(3));
  EXPECT_EQ(measured.hosts[2].presence, Presence::Lost);
  EXPECT_TRUE(measured.troubles.empty());
}

TEST(LeadTrouble, a_task_that_fails_is_one_pairs_trouble) {
  FakeAgents agents(4);
  agents.answer = [](const Asked& asked) -> std::optional<Result<Json>> {
    if (asked.host == 0 && asked.task.kind == TaskKind::Loss &&
        asked.task.peer == FakeAgents::address(3)) {
      return fail(ErrorKind::Unreachable, "", "UDP", "no answer");
    }
    return std::nullopt;
  };
  const Measured measured = led(agents, wanted_of(4));
  ASSERT_EQ(measured.troubles.size(), 1U);
  EXPECT_EQ(measured.troubles[0].a, 0U);
  EXPECT_EQ(measured.troubles[0].b, 3U);
  EXPECT_EQ(measured.troubles[0].test, "loss");
  EXPECT_EQ(measured.troubles[0].error.reason, "no answer");
  EXPECT_TRUE(measured.pairs[2].rtt_ms);
  EXPECT_TRUE(measured.pairs[2].there.tcp_mbps);
}

TEST(LeadTrouble, a_liar_is_a_trouble_and_no_crash) {
  const std::vector<Json> lies{
      Json(),
      Json::array({1, 2}),
      Json("text"),
      Json{{"schema", 5}},
      Json{{"schema", "chokepoint.probe.tcp/1"}},
      Json{{"schema", "chokepoint.probe.tcp/1"}, {"throughput_mbps", -1}},
      Json{{"schema", "chokepoint.probe.tcp/1"}, {"throughput_mbps", 1e300}},
      Json{{"schema", "chokepoint.probe.tcp/1"}, {"throughput_mbps", "fast"}},
      Json{{"schema", "chokepoint.probe.tcp/1"}, {"throughput_mbps", std::nan("")}}};
  for (const Json& lie : lies) {
    FakeAgents agents(4);
    agents.answer = [&](const Asked& asked) -> std::optional<Result<Json>> {
      return asked.host == 1 ? std::optional<Result<Json>>(lie) : std::nullopt;
    };
    const Measured measured = led(agents, wanted_of(4));
    EXPECT_EQ(whole_without(measured, 1), 3U);
    EXPECT_FALSE(measured.troubles.empty());
    EXPECT_TRUE(std::ranges::all_of(measured.troubles, [](const Trouble& each) {
      return each.error.kind == ErrorKind::Malformed && each.a == 1;
    }));
    EXPECT_EQ(agents.faults, 0U);
  }
}

TEST(LeadTrouble, who_says_nothing_is_gone_after_a_while) {
  for (const TaskKind kind : kKinds) {
    FakeAgents agents(5);
    agents.silent = [&](const Asked& asked) { return asked.host == 1 && asked.task.kind >= kind; };
    const Measured measured = led(agents, wanted_of(5));
    if (kind != TaskKind::Collective) {
      EXPECT_EQ(measured.hosts[1].presence, Presence::Lost) << name_of(kind);
      EXPECT_EQ(whole_without(measured, 1), 6U);
    }
    EXPECT_LT(measured.duration_s, 300);
    EXPECT_EQ(agents.faults, 0U);
    EXPECT_EQ(agents.on(), 0U);
  }
}

TEST(LeadTrouble, a_collective_that_hangs_until_the_time_is_over_is_told) {
  FakeAgents agents(4);
  agents.silent = [](const Asked& asked) { return asked.task.kind == TaskKind::Collective; };
  coordinator::Wanted wanted = wanted_of(4);
  wanted.limit = std::chrono::milliseconds(30'000);
  const Measured measured = led(agents, wanted);
  ASSERT_TRUE(measured.collective);
  ASSERT_TRUE(measured.collective->error);
  EXPECT_EQ(measured.collective->error->kind, ErrorKind::Timeout);
}

TEST(LeadTrouble, one_silence_is_a_trouble) {
  FakeAgents agents(3);
  agents.silent = [](const Asked& asked) {
    return asked.task.kind == TaskKind::Loss && asked.host == 0 &&
           asked.task.peer == FakeAgents::address(1);
  };
  const Measured measured = led(agents, wanted_of(3));
  EXPECT_EQ(measured.hosts[0].presence, Presence::Present);
  ASSERT_EQ(measured.troubles.size(), 1U);
  EXPECT_EQ(measured.troubles[0].error.kind, ErrorKind::Timeout);
  EXPECT_TRUE(measured.pairs[0].there.tcp_mbps);
}

TEST(LeadTrouble, an_interrupt_at_any_task_keeps_what_was_measured) {
  for (const TaskKind kind : kKinds) {
    FakeAgents agents(4);
    agents.interrupts = [&](const Asked& asked) { return asked.task.kind == kind; };
    const std::size_t before = agents.asked.size();
    const Measured measured = led(agents, wanted_of(4));
    EXPECT_TRUE(measured.was_interrupted) << name_of(kind);
    EXPECT_EQ(agents.on(), 0U) << "what is on was not given up";
    EXPECT_EQ(agents.faults, 0U);
    EXPECT_GT(agents.asked.size(), before);
    EXPECT_EQ(measured.hosts[0].presence, Presence::Present);
    EXPECT_EQ(kind == TaskKind::Tcp, measured.pairs.size() == 6 && measured.pairs[0].rtt_ms &&
                                         !measured.pairs[0].there.tcp_mbps)
        << name_of(kind);
  }
}

TEST(LeadTrouble, broken_connections_end_it) {
  FakeAgents agents(3);
  agents.breaks_after = 20;
  const coordinator::CoordinatorResult led =
      coordinator::run_preflight(agents, wanted_of(3), {}, agents.clock, {});
  EXPECT_EQ(led.broken.value().reason, "broken");
  EXPECT_EQ(agents.on(), 0U);
}

}  // namespace
}  // namespace chokepoint::preflight
