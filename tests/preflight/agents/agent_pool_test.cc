#include "preflight/agents/agent_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <thread>

#include "tests/preflight/agents/events.h"
#include "tests/preflight/agents/leader.h"
#include "tests/preflight/crowd/crowd.h"

namespace chokepoint::preflight {
namespace {

using crowd::Behaviour;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST(AgentPool, FourAgentsComeAndAnswer) {
  const auto crowd = start({.hosts = 4});
  const Story story = lead(patient(crowd->hosts()), 3, seconds(20));
  EXPECT_EQ(story.all_answered(3).size(), 4U);
  EXPECT_TRUE(story.went.empty());
  ASSERT_EQ(story.came.size(), 4U);
  EXPECT_EQ(story.came.at(2).facts.host, "host2");
  EXPECT_EQ(story.came.at(2).settings.at("sysctl").at("net.ipv4.tcp_congestion_control"), "cubic");
  EXPECT_EQ(story.came.at(2).program, "chokepoint 0.1.0");
  EXPECT_EQ(story.came.at(2).address, "127.1.0.3");
  EXPECT_EQ(story.answers.at(3)[0]->at("schema"), "chokepoint.probe.latency/1");
}

TEST(AgentPool, AThousandAgentsComeAndAnswer) {
  const auto crowd = start({.hosts = 1000, .key = control::Secret{7}});
  AgentPoolOptions options = patient(crowd->hosts());
  options.key = control::Secret{7};
  const Story story = lead(std::move(options), 10, seconds(100));
  EXPECT_EQ(story.all_answered(10).size(), 1000U);
  EXPECT_TRUE(story.went.empty());
}

TEST(AgentPool, FewAreOpenedAtOnceAndAllGetIn) {
  const auto crowd = start({.hosts = 40});
  AgentPoolOptions options = patient(crowd->hosts());
  options.most_opening = 1;
  EXPECT_EQ(lead(std::move(options), 1, seconds(30)).all_answered(1).size(), 40U);
}

TEST(AgentPool, AnotherKeyIsRefused) {
  const auto crowd = start({.hosts = 1, .key = control::Secret{1}});
  AgentPoolOptions options = patient(crowd->hosts());
  options.key = control::Secret{2};
  const auto went = next<AgentLeft>(*crew_of(options));
  ASSERT_TRUE(went);
  EXPECT_EQ(went->presence, Presence::Refused);
  EXPECT_THAT(describe(went->error), HasSubstr("the same file with --key-file"));
}

TEST(AgentPool, AKeyThatIsMissingHereIsSaidSo) {
  const auto crowd = start({.hosts = 1, .key = control::Secret{1}});
  const auto went = next<AgentLeft>(*crew_of(patient(crowd->hosts())));
  ASSERT_TRUE(went);
  EXPECT_EQ(went->presence, Presence::Refused);
  EXPECT_THAT(describe(went->error), HasSubstr("the server requires a key"));
}

TEST(AgentPool, AKeyThatIsMissingThereIsSaidSo) {
  const auto crowd = start({.hosts = 1});
  AgentPoolOptions options = patient(crowd->hosts());
  options.key = control::Secret{2};
  const auto went = next<AgentLeft>(*crew_of(options));
  ASSERT_TRUE(went);
  EXPECT_EQ(went->presence, Presence::Refused);
  EXPECT_THAT(describe(went->error), HasSubstr("the server has no key"));
}

TEST(AgentPool, WhoWasHeldUpItselfBlamesNobody) {
  const auto crowd = start({.hosts = 1});
  AgentPoolOptions options = patient(crowd->hosts());
  options.connecting = options.handshake = milliseconds(1000);
  const auto pool = crew_of(options);
  const auto early = pool->next(net::Deadline::of(milliseconds(0)));
  ASSERT_TRUE(early);
  if (*early) {
    // The host had the processor first, and was through before anybody could be held up.
    EXPECT_TRUE(std::holds_alternative<AgentJoined>(**early));
    return;
  }
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_TRUE(next<AgentJoined>(*pool));
}

TEST(AgentPool, AHostThatDiesInTheMidstOfATaskIsLostAlone) {
  const auto crowd = start({.hosts = 2, .behaviours = {{0, Behaviour::NeverAnswers}}});
  const auto pool = crew_of(patient(crowd->hosts()));
  ASSERT_TRUE(next<AgentJoined>(*pool));
  ASSERT_TRUE(next<AgentJoined>(*pool));
  pool->ask(0, 1, latency("127.1.0.2"));
  crowd->kill(0);
  const auto went = next<AgentLeft>(*pool);
  ASSERT_TRUE(went);
  EXPECT_EQ(went->host, 0U);
  EXPECT_EQ(went->presence, Presence::Lost);
  pool->ask(0, 2, latency("127.1.0.2"));
  pool->ask(1, 3, latency("127.1.0.1"));
  const auto answered = next<Answered>(*pool);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->host, 1U);
  EXPECT_EQ(answered->task, 3U);
}

TEST(AgentPool, ALateTaskIsATimeoutAndTheHostGoesOn) {
  const auto crowd = start({.hosts = 1, .time_factor = 1});
  AgentPoolOptions options = patient(crowd->hosts());
  options.beyond_task = milliseconds(0);
  options.longest = [](const Task&) { return milliseconds(50); };
  const auto pool = crew_of(options);
  ASSERT_TRUE(next<AgentJoined>(*pool));
  Task slow = latency("127.1.0.1");
  slow.time = seconds(3);
  pool->ask(0, 1, slow);
  const auto late = next<Answered>(*pool);
  ASSERT_TRUE(late);
  ASSERT_FALSE(late->document);
  EXPECT_EQ(late->document.error().kind, ErrorKind::Timeout);
  const auto slow_again = [&] {
    slow.time = milliseconds(10);
    pool->ask(0, 2, slow);
  };
  slow_again();
  const auto answered = next<Answered>(*pool);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->task, 2U);
  EXPECT_TRUE(answered->document);
}

TEST(AgentPool, WhatIsGivenUpIsNotAnswered) {
  const auto crowd = start({.hosts = 1, .time_factor = 1});
  const auto pool = crew_of(patient(crowd->hosts()));
  ASSERT_TRUE(next<AgentJoined>(*pool));
  Task slow = latency("127.1.0.1");
  slow.time = seconds(1);
  pool->ask(0, 1, slow);
  pool->give_up(0, 1);
  pool->ask(0, 2, latency("127.1.0.1"));
  const auto answered = next<Answered>(*pool);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->task, 2U);
  const auto more = pool->next(net::Deadline::of(milliseconds(200)));
  ASSERT_TRUE(more);
  EXPECT_FALSE(*more);
}

TEST(AgentPool, TwoTasksAtOnceAreBusy) {
  const auto crowd = start({.hosts = 1, .behaviours = {{0, Behaviour::NeverAnswers}}});
  const auto pool = crew_of(patient(crowd->hosts()));
  ASSERT_TRUE(next<AgentJoined>(*pool));
  pool->ask(0, 1, latency("127.1.0.1"));
  pool->ask(0, 2, latency("127.1.0.1"));
  const auto answered = next<Answered>(*pool);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->task, 2U);
  ASSERT_FALSE(answered->document);
  EXPECT_EQ(answered->document.error().kind, ErrorKind::Busy);
}

TEST(AgentPool, TheUserInterrupts) {
  const auto crowd = start({.hosts = 1, .behaviours = {{0, Behaviour::Silent}}});
  const sys::Descriptor interrupt(eventfd(1, EFD_CLOEXEC));
  AgentPoolOptions options = patient(crowd->hosts());
  options.interrupt = interrupt.get();
  const auto event = crew_of(options)->next(net::Deadline::of(seconds(20)));
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().kind, ErrorKind::Interrupted);
}

TEST(AgentPool, NothingHappensForNobody) {
  const auto event = crew_of(patient({}))->next(net::Deadline::of(milliseconds(10)));
  ASSERT_TRUE(event);
  EXPECT_FALSE(*event);
}

TEST(AgentPool, AgentsAreLetGoAtTheEnd) {
  const auto crowd = start({.hosts = 20});
  {
    const auto pool = crew_of(patient(crowd->hosts()));
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(next<AgentJoined>(*pool));
    }
  }
  const net::Deadline deadline = net::Deadline::of(seconds(20));
  while (crowd->guests() > 0 && !deadline.over()) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_EQ(crowd->guests(), 0U);
}

}  // namespace
}  // namespace chokepoint::preflight
