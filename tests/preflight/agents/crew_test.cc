#include "preflight/agents/crew.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <thread>

#include "tests/preflight/agents/events.h"
#include "tests/preflight/agents/leader.h"
#include "tests/preflight/crowd/crowd.h"

namespace chokepoint::preflight {
namespace {

using crowd::Way;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST(Crew, FourAgentsComeAndAnswer) {
  const auto crowd = start({.hosts = 4});
  const Story story = lead(patient(crowd->hosts()), 3, seconds(20));
  EXPECT_EQ(story.all_answered(3).size(), 4U);
  EXPECT_TRUE(story.went.empty());
  ASSERT_EQ(story.came.size(), 4U);
  EXPECT_EQ(story.came.at(2).facts.host, "host2");
  EXPECT_EQ(story.came.at(2).program, "chokepoint 0.1.0");
  EXPECT_EQ(story.came.at(2).address, "127.1.0.3");
  EXPECT_EQ(story.answers.at(3)[0]->at("schema"), "chokepoint.probe.latency/1");
}

TEST(Crew, AThousandAgentsComeAndAnswer) {
  const auto crowd = start({.hosts = 1000, .key = control::Secret{7}});
  CrewOptions options = patient(crowd->hosts());
  options.key = control::Secret{7};
  const Story story = lead(std::move(options), 10, seconds(100));
  EXPECT_EQ(story.all_answered(10).size(), 1000U);
  EXPECT_TRUE(story.went.empty());
}

TEST(Crew, FewAreOpenedAtOnceAndAllGetIn) {
  const auto crowd = start({.hosts = 40});
  CrewOptions options = patient(crowd->hosts());
  options.most_opening = 1;
  EXPECT_EQ(lead(std::move(options), 1, seconds(30)).all_answered(1).size(), 40U);
}

TEST(Crew, AnotherKeyIsRefused) {
  const auto crowd = start({.hosts = 1, .key = control::Secret{1}});
  CrewOptions options = patient(crowd->hosts());
  options.key = control::Secret{2};
  const auto went = next<Went>(*crew_of(options));
  ASSERT_TRUE(went);
  EXPECT_EQ(went->presence, Presence::Refused);
  EXPECT_THAT(describe(went->error), HasSubstr("the same file with --key-file"));
}

TEST(Crew, AKeyThatIsMissingHereIsSaidSo) {
  const auto crowd = start({.hosts = 1, .key = control::Secret{1}});
  const auto went = next<Went>(*crew_of(patient(crowd->hosts())));
  ASSERT_TRUE(went);
  EXPECT_EQ(went->presence, Presence::Refused);
  EXPECT_THAT(describe(went->error), HasSubstr("the server requires a key"));
}

TEST(Crew, AKeyThatIsMissingThereIsSaidSo) {
  const auto crowd = start({.hosts = 1});
  CrewOptions options = patient(crowd->hosts());
  options.key = control::Secret{2};
  const auto went = next<Went>(*crew_of(options));
  ASSERT_TRUE(went);
  EXPECT_EQ(went->presence, Presence::Refused);
  EXPECT_THAT(describe(went->error), HasSubstr("the server has no key"));
}

TEST(Crew, WhoWasHeldUpItselfBlamesNobody) {
  const auto crowd = start({.hosts = 1});
  CrewOptions options = patient(crowd->hosts());
  options.connecting = options.handshake = milliseconds(1000);
  const auto crew = crew_of(options);
  const auto early = crew->next(net::Patience::of(milliseconds(0)));
  ASSERT_TRUE(early);
  if (*early) {
    // The host had the processor first, and was through before anybody could be held up.
    EXPECT_TRUE(std::holds_alternative<Came>(**early));
    return;
  }
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_TRUE(next<Came>(*crew));
}

TEST(Crew, AHostThatDiesInTheMidstOfATaskIsLostAlone) {
  const auto crowd = start({.hosts = 2, .ways = {{0, Way::NeverAnswers}}});
  const auto crew = crew_of(patient(crowd->hosts()));
  ASSERT_TRUE(next<Came>(*crew));
  ASSERT_TRUE(next<Came>(*crew));
  crew->ask(0, 1, latency("127.1.0.2"));
  crowd->kill(0);
  const auto went = next<Went>(*crew);
  ASSERT_TRUE(went);
  EXPECT_EQ(went->host, 0U);
  EXPECT_EQ(went->presence, Presence::Lost);
  crew->ask(0, 2, latency("127.1.0.2"));
  crew->ask(1, 3, latency("127.1.0.1"));
  const auto answered = next<Answered>(*crew);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->host, 1U);
  EXPECT_EQ(answered->task, 3U);
}

TEST(Crew, ALateTaskIsATimeoutAndTheHostGoesOn) {
  const auto crowd = start({.hosts = 1, .time_factor = 1});
  CrewOptions options = patient(crowd->hosts());
  options.beyond_task = milliseconds(0);
  options.longest = [](const Task&) { return milliseconds(50); };
  const auto crew = crew_of(options);
  ASSERT_TRUE(next<Came>(*crew));
  Task slow = latency("127.1.0.1");
  slow.time = seconds(3);
  crew->ask(0, 1, slow);
  const auto late = next<Answered>(*crew);
  ASSERT_TRUE(late);
  ASSERT_FALSE(late->document);
  EXPECT_EQ(late->document.error().kind, ErrorKind::Timeout);
  const auto slow_again = [&] {
    slow.time = milliseconds(10);
    crew->ask(0, 2, slow);
  };
  slow_again();
  const auto answered = next<Answered>(*crew);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->task, 2U);
  EXPECT_TRUE(answered->document);
}

TEST(Crew, WhatIsGivenUpIsNotAnswered) {
  const auto crowd = start({.hosts = 1, .time_factor = 1});
  const auto crew = crew_of(patient(crowd->hosts()));
  ASSERT_TRUE(next<Came>(*crew));
  Task slow = latency("127.1.0.1");
  slow.time = seconds(1);
  crew->ask(0, 1, slow);
  crew->give_up(0, 1);
  crew->ask(0, 2, latency("127.1.0.1"));
  const auto answered = next<Answered>(*crew);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->task, 2U);
  const auto more = crew->next(net::Patience::of(milliseconds(200)));
  ASSERT_TRUE(more);
  EXPECT_FALSE(*more);
}

TEST(Crew, TwoTasksAtOnceAreBusy) {
  const auto crowd = start({.hosts = 1, .ways = {{0, Way::NeverAnswers}}});
  const auto crew = crew_of(patient(crowd->hosts()));
  ASSERT_TRUE(next<Came>(*crew));
  crew->ask(0, 1, latency("127.1.0.1"));
  crew->ask(0, 2, latency("127.1.0.1"));
  const auto answered = next<Answered>(*crew);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->task, 2U);
  ASSERT_FALSE(answered->document);
  EXPECT_EQ(answered->document.error().kind, ErrorKind::Busy);
}

TEST(Crew, TheUserInterrupts) {
  const auto crowd = start({.hosts = 1, .ways = {{0, Way::Silent}}});
  const sys::Descriptor interrupt(eventfd(1, EFD_CLOEXEC));
  CrewOptions options = patient(crowd->hosts());
  options.interrupt = interrupt.get();
  const auto event = crew_of(options)->next(net::Patience::of(seconds(20)));
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().kind, ErrorKind::Interrupted);
}

TEST(Crew, NothingHappensForNobody) {
  const auto event = crew_of(patient({}))->next(net::Patience::of(milliseconds(10)));
  ASSERT_TRUE(event);
  EXPECT_FALSE(*event);
}

TEST(Crew, AgentsAreLetGoAtTheEnd) {
  const auto crowd = start({.hosts = 20});
  {
    const auto crew = crew_of(patient(crowd->hosts()));
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(next<Came>(*crew));
    }
  }
  const net::Patience patience = net::Patience::of(seconds(20));
  while (crowd->guests() > 0 && !patience.over()) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_EQ(crowd->guests(), 0U);
}

}  // namespace
}  // namespace chokepoint::preflight
