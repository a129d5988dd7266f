#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "preflight/commands/preflight.h"

namespace chokepoint::preflight {
namespace {

using std::chrono::milliseconds;

Error error(ErrorKind kind, const std::string& reason) {
  return {.kind = kind, .operation = "ssh", .subject = "gpu1", .reason = reason};
}

class MadeAgents final : public Agents {
 public:
  void ask(HostIndex, TaskNumber, const Task&) override {}
  void give_up(HostIndex, TaskNumber) override {}
  Result<std::optional<Event>> next(const net::Deadline&) override {
    if (events.empty()) {
      return std::nullopt;
    }
    Event event = std::move(events.front());
    events.pop_front();
    return event;
  }

  std::deque<Event> events;
};

class MadeLaunch final : public Launch {
 public:
  std::optional<Error> trouble(std::size_t host) override {
    const auto found = troubles.find(host);
    return found == troubles.end() ? std::nullopt : std::optional(found->second);
  }

  std::map<std::size_t, Error> troubles;
};

class Launched : public testing::Test {
 protected:
  std::optional<Event> next() {
    return under_test_.next(net::Deadline::of(milliseconds(1))).value();
  }
  AgentLeft went() { return std::get<AgentLeft>(next().value()); }

  MadeAgents agents_;
  MadeLaunch launch_;
  LaunchedAgents under_test_{agents_, launch_, 2};
};

TEST_F(Launched, AHostThatTheLauncherFailedOnIsWaitedForNoLonger) {
  launch_.troubles[1] = error(ErrorKind::Permission, "Permission denied");
  const AgentLeft gone = went();
  EXPECT_EQ(gone.host, 1U);
  EXPECT_EQ(gone.presence, Presence::NoAgent);
  EXPECT_EQ(gone.error.reason, "Permission denied");
  EXPECT_FALSE(next());
}

TEST_F(Launched, WhatTheLauncherSawTellsWhereItFailed) {
  launch_.troubles[0] = error(ErrorKind::Timeout, "");
  launch_.troubles[1] = error(ErrorKind::NotFound, "");
  EXPECT_EQ(went().presence, Presence::Unreachable);
  EXPECT_EQ(went().presence, Presence::Unresolved);
}

TEST_F(Launched, WhoCameIsThereWhateverTheLauncherSays) {
  agents_.events.push_back(AgentJoined{.host = 1});
  EXPECT_TRUE(std::holds_alternative<AgentJoined>(next().value()));
  launch_.troubles[1] = error(ErrorKind::Io, "a warning");
  EXPECT_FALSE(next());
}

TEST_F(Launched, WhoGoesIsToldWithTheLaunchersWords) {
  agents_.events.push_back(AgentJoined{.host = 1});
  next();
  launch_.troubles[1] = error(ErrorKind::Io, "killed");
  agents_.events.push_back(AgentLeft{
      .host = 1, .presence = Presence::Lost, .error = error(ErrorKind::Io, "connection reset")});
  const AgentLeft gone = went();
  EXPECT_EQ(gone.presence, Presence::Lost);
  EXPECT_EQ(gone.error.reason, "killed");
}

TEST_F(Launched, WhoRefusesIsNotTheOneThatWasStarted) {
  Error refusal = error(ErrorKind::Refused, "the keys are not the same");
  refusal.next_step = "give both ends the same file with --key-file";
  agents_.events.push_back(AgentLeft{.host = 1, .presence = Presence::Refused, .error = refusal});
  EXPECT_EQ(went().error.next_step,
            "another 'chokepoint serve' listens there: end it, or give another --port");
}

TEST(NamesHere, LoopbackIsRightForTheOwnNameAndLocalhost) {
  for (const char* name : {"gpu1", "gpu1.cluster", "localhost", "localhost.localdomain",
                           "ip6-localhost", "127.0.0.1", "::1"}) {
    EXPECT_TRUE(may_be_loopback(name, "gpu1.rack7")) << name;
  }
  for (const char* name : {"gpu2", "gpu11", "gpu1-mgmt", ""}) {
    EXPECT_FALSE(may_be_loopback(name, "gpu1.rack7")) << name;
  }
}

TEST(NamesHere, WhatLeadsElsewhereStaysAsItIs) {
  const auto addresses = resolve_here("192.0.2.7", {}, "gpu1");
  ASSERT_TRUE(addresses.has_value());
  EXPECT_EQ(addresses->front().text(), "192.0.2.7");
  EXPECT_TRUE(resolve_here("localhost", {}, "gpu1").has_value());
}

}  // namespace

}  // namespace chokepoint::preflight
