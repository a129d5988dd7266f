#include "preflight/agents/crew.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/net/socket.h"
#include "tests/preflight/agents/leader.h"
#include "tests/preflight/crowd/crowd.h"

namespace chokepoint::preflight {
namespace {

using crowd::Crowd;
using crowd::CrowdOptions;
using crowd::Way;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

std::unique_ptr<Crowd> start(CrowdOptions options) {
  Result<std::unique_ptr<Crowd>> crowd = Crowd::start(std::move(options));
  EXPECT_TRUE(crowd);
  return std::move(*crowd);
}

std::unique_ptr<Crew> crew_of(CrewOptions options) {
  Result<std::unique_ptr<Crew>> crew = Crew::make(std::move(options));
  EXPECT_TRUE(crew);
  return std::move(*crew);
}

// A port where nobody listens: bound, and never listened at.
struct QuietPort {
  sys::Descriptor fd;
  std::uint16_t port = 0;

  QuietPort() {
    Result<sys::Descriptor> open =
        net::bind_udp({.address = *net::Address::parse("127.0.0.1"), .port = 0}, {});
    fd = std::move(*open);
    port = net::local_endpoint(fd.get())->port;
  }
};

// The first event of its kind; fails the test where another comes.
template <class Kind>
std::optional<Kind> next(Crew& crew, seconds most = seconds(20)) {
  Result<std::optional<Event>> event = crew.next(net::Patience::of(most));
  const bool is_it = event && *event && std::holds_alternative<Kind>(**event);
  EXPECT_TRUE(is_it);
  return is_it ? std::optional(std::get<Kind>(std::move(**event))) : std::nullopt;
}

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
  EXPECT_THAT(describe(went->error), HasSubstr("the server wants a key"));
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

TEST(Crew, WhereNothingListensIsNoAgent) {
  const QuietPort quiet;
  const auto went = next<Went>(*crew_of(patient({{"127.0.0.1", quiet.port}})));
  ASSERT_TRUE(went);
  EXPECT_EQ(went->presence, Presence::NoAgent);
  EXPECT_THAT(describe(went->error), HasSubstr("127.0.0.1 port"));
  EXPECT_THAT(describe(went->error), HasSubstr("is 'chokepoint serve' running there?"));
}

TEST(Crew, AnAgentThatIsBeingStartedIsCalledAgain) {
  std::uint16_t port = 0;
  {
    const QuietPort quiet;
    port = quiet.port;
  }
  CrewOptions options = patient({{"127.1.0.1", port}});
  options.appear = seconds(60);
  options.call_again = milliseconds(20);
  const auto crew = crew_of(options);
  const auto early = crew->next(net::Patience::of(milliseconds(200)));
  ASSERT_TRUE(early);
  EXPECT_FALSE(*early);
  const auto crowd = start({.hosts = 1, .port = port});
  EXPECT_TRUE(next<Came>(*crew));
}

TEST(Crew, OneThatNeverListensIsGivenUp) {
  const QuietPort quiet;
  CrewOptions options = patient({{"127.0.0.1", quiet.port}});
  options.appear = milliseconds(300);
  options.call_again = milliseconds(50);
  const auto went = next<Went>(*crew_of(options));
  ASSERT_TRUE(went);
  EXPECT_EQ(went->presence, Presence::NoAgent);
}

TEST(Crew, TheNextAddressOfAHostIsTried) {
  const auto crowd = start({.hosts = 1});
  CrewOptions options = patient({{"two-addresses", crowd->port()}});
  options.resolve = [](const std::string&, auto) -> Result<std::vector<net::Address>> {
    // Nobody listens at ::1, whatever family this host has.
    return std::vector{*net::Address::parse("::1"), *net::Address::parse("127.1.0.1")};
  };
  const auto came = next<Came>(*crew_of(options));
  ASSERT_TRUE(came);
  EXPECT_EQ(came->address, "127.1.0.1");
}

TEST(Crew, ANameThatLeadsNowhereIsUnresolved) {
  const auto crowd = start({.hosts = 1});
  CrewOptions options = patient({{"nowhere", 5210}, {"127.1.0.1", crowd->port()}});
  options.resolve = [](const std::string& name, auto) -> Result<std::vector<net::Address>> {
    return fail(ErrorKind::NotFound, "resolve", name, "Name or service not known");
  };
  const Story story = lead(options, 1, seconds(20));
  EXPECT_EQ(story.all_answered(1), (std::set<HostIndex>{1}));
  ASSERT_TRUE(story.went.contains(0));
  EXPECT_EQ(story.went.at(0).presence, Presence::Unresolved);
}

TEST(Crew, ANameServerThatHangsHoldsNobodyElse) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_open = false;
    std::atomic<int> asked = 0;
  };
  const auto gate = std::make_shared<Gate>();
  const auto crowd = start({.hosts = 1});
  CrewOptions options = patient({{"127.1.0.1", crowd->port()}});
  for (int i = 0; i < 500; ++i) {
    options.hosts.push_back({"slow" + std::to_string(i), 5210});
  }
  options.resolving = milliseconds(300);
  options.resolve = [gate](const std::string&, auto) -> Result<std::vector<net::Address>> {
    ++gate->asked;
    std::unique_lock lock(gate->mutex);
    gate->changed.wait(lock, [&] { return gate->is_open; });
    return std::vector<net::Address>{};
  };
  const Story story = lead(options, 1, seconds(60));
  {
    const std::lock_guard lock(gate->mutex);
    gate->is_open = true;
  }
  gate->changed.notify_all();
  EXPECT_EQ(story.all_answered(1), (std::set<HostIndex>{0}));
  EXPECT_EQ(story.went.size(), 500U);
  EXPECT_EQ(story.went.at(1).presence, Presence::Unresolved);
  EXPECT_LE(gate->asked, static_cast<int>(Lookups::kMostThreads));
}

TEST(Crew, ANameWithoutAddressesIsUnresolved) {
  CrewOptions options = patient({{"empty", 5210}});
  options.resolve = [](const std::string&, auto) -> Result<std::vector<net::Address>> {
    return std::vector<net::Address>{};
  };
  const auto went = next<Went>(*crew_of(options));
  ASSERT_TRUE(went);
  EXPECT_EQ(went->presence, Presence::Unresolved);
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
