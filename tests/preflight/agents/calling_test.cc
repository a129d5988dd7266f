// Until a conversation begins: names, addresses, nobody there yet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/net/socket.h"
#include "tests/preflight/agents/events.h"
#include "tests/preflight/agents/leader.h"
#include "tests/preflight/crowd/crowd.h"

namespace chokepoint::preflight {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

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

TEST(Calling, WhereNothingListensIsNoAgent) {
  const QuietPort quiet;
  const auto went = next<AgentLeft>(*crew_of(patient({{"127.0.0.1", quiet.port}})));
  ASSERT_TRUE(went);
  EXPECT_EQ(went->presence, Presence::NoAgent);
  EXPECT_THAT(describe(went->error), HasSubstr("127.0.0.1 port"));
  EXPECT_THAT(describe(went->error), HasSubstr("is 'chokepoint serve' running there?"));
}

TEST(Calling, AnAgentThatIsBeingStartedIsCalledAgain) {
  std::uint16_t port = 0;
  {
    const QuietPort quiet;
    port = quiet.port;
  }
  AgentPoolOptions options = patient({{"127.1.0.1", port}});
  options.appear = seconds(60);
  options.call_again = milliseconds(20);
  const auto pool = crew_of(options);
  const auto early = pool->next(net::Deadline::of(milliseconds(200)));
  ASSERT_TRUE(early);
  EXPECT_FALSE(*early);
  const auto crowd = start({.hosts = 1, .port = port});
  EXPECT_TRUE(next<AgentJoined>(*pool));
}

TEST(Calling, OneThatNeverListensIsGivenUp) {
  const QuietPort quiet;
  AgentPoolOptions options = patient({{"127.0.0.1", quiet.port}});
  options.appear = milliseconds(300);
  options.call_again = milliseconds(50);
  const auto went = next<AgentLeft>(*crew_of(options));
  ASSERT_TRUE(went);
  EXPECT_EQ(went->presence, Presence::NoAgent);
}

TEST(Calling, TheNextAddressOfAHostIsTried) {
  const auto crowd = start({.hosts = 1});
  AgentPoolOptions options = patient({{"two-addresses", crowd->port()}});
  options.resolve = [](const std::string&, auto) -> Result<std::vector<net::Address>> {
    // Nobody listens at ::1, whatever family this host has.
    return std::vector{*net::Address::parse("::1"), *net::Address::parse("127.1.0.1")};
  };
  const auto came = next<AgentJoined>(*crew_of(options));
  ASSERT_TRUE(came);
  EXPECT_EQ(came->address, "127.1.0.1");
}

TEST(Calling, ANameThatLeadsNowhereIsUnresolved) {
  const auto crowd = start({.hosts = 1});
  AgentPoolOptions options = patient({{"nowhere", 5210}, {"127.1.0.1", crowd->port()}});
  options.resolve = [](const std::string& name, auto) -> Result<std::vector<net::Address>> {
    return fail(ErrorKind::NotFound, "resolve", name, "Name or service not known");
  };
  const Story story = lead(options, 1, seconds(20));
  EXPECT_EQ(story.all_answered(1), (std::set<HostIndex>{1}));
  ASSERT_TRUE(story.went.contains(0));
  EXPECT_EQ(story.went.at(0).presence, Presence::Unresolved);
}

TEST(Calling, ANameServerThatHangsHoldsNobodyElse) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_open = false;
    std::atomic<int> asked = 0;
  };
  const auto gate = std::make_shared<Gate>();
  const auto crowd = start({.hosts = 1});
  AgentPoolOptions options = patient({{"127.1.0.1", crowd->port()}});
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
  EXPECT_LE(gate->asked, static_cast<int>(NameLookups::kMaxThreads));
}

TEST(Calling, ANameWithoutAddressesIsUnresolved) {
  AgentPoolOptions options = patient({{"empty", 5210}});
  options.resolve = [](const std::string&, auto) -> Result<std::vector<net::Address>> {
    return std::vector<net::Address>{};
  };
  const auto went = next<AgentLeft>(*crew_of(options));
  ASSERT_TRUE(went);
  EXPECT_EQ(went->presence, Presence::Unresolved);
}

}  // namespace
}  // namespace chokepoint::preflight
