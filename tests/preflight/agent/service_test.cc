#include "preflight/agent/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <span>
#include <thread>

#include "base/control/message.h"
#include "base/host/settings.h"
#include "base/json/codec.h"
#include "base/net/socket.h"
#include "preflight/task/host_facts.h"
#include "preflight/task/task.h"
#include "tests/fakes/probe_server.h"
#include "tests/preflight/agent/made_program.h"

namespace chokepoint::preflight {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Type;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class ServiceTest : public testing::Test {
 protected:
  control::Services services() const {
    control::Services services;
    services.push_back(std::make_unique<PreflightService>(program_.path()));
    return services;
  }
  static net::Deadline soon() { return net::Deadline::of(seconds(20)); }
  static Result<Json> request(Client& client) {
    return client.request(std::string(kPreflightKind), Json::object(), soon(),
                          [](const std::string&) {});
  }
  Client coordinator(const std::string& host = "login1") const {
    Client client = std::move(server_.client(std::nullopt, host).value());
    EXPECT_TRUE(request(client));
    return client;
  }
  static void say(Client& client, Type type, Json body) {
    ASSERT_TRUE(client.channel().send({type, std::move(body)}, soon()));
  }
  static void begin(Client& client, std::int64_t number, const std::string& peer) {
    Json body = json::to_json(Task{.kind = TaskKind::Tcp, .peer = peer});
    body["task"] = number;
    say(client, Type::Begin, std::move(body));
  }
  static Json report(Client& client) {
    const Result<Message> said = client.channel().expect(Type::Report, soon());
    return said ? said->body : Json{{"none", describe(said.error())}};
  }

  fakes::MadeProgram program_;
  fakes::ProbeServer server_{services()};
};

TEST_F(ServiceTest, TellsOfItsHostFirst) {
  Client client = std::move(server_.client().value());
  const Json ready = request(client).value();
  EXPECT_TRUE(json::from_json<HostFacts>(ready["facts"], "facts"));
  EXPECT_TRUE(host::settings_in(ready["settings"]).contains("kernel"));
}

TEST_F(ServiceTest, DoesOneTaskAfterTheOtherUntilStop) {
  Client client = coordinator();
  begin(client, 7, "fine");
  const Json first = report(client);
  EXPECT_EQ(first["task"], 7);
  EXPECT_EQ(first["document"]["schema"], "made/1");
  begin(client, 4'000'000'000, "fails");
  const Json second = report(client);
  EXPECT_EQ(second["task"], 4'000'000'000);
  EXPECT_EQ(control::error_in(second["error"], "b").reason, "b: no route to host");
  say(client, Type::Stop, Json::object());
  EXPECT_EQ(client.channel().expect(Type::Result, soon()).value().body, Json::object());
  // The connection goes on.
  EXPECT_TRUE(request(client));
}

TEST_F(ServiceTest, NamesNeedNoProgram) {
  Client client = coordinator();
  Json body = json::to_json(Task{.kind = TaskKind::Names, .hosts = {"127.0.0.1"}});
  body["task"] = 1;
  say(client, Type::Begin, body);
  EXPECT_EQ(report(client)["document"]["answers"][0]["addresses"][0], "127.0.0.1");
}

TEST_F(ServiceTest, AWrongTaskIsAnsweredAndTheNextOneDone) {
  Client client = coordinator();
  begin(client, 1, "-oProxyCommand=touch");
  EXPECT_THAT(report(client)["error"].dump(), HasSubstr("'peer'"));
  say(client, Type::Begin, {{"task", 2}});
  EXPECT_THAT(report(client)["error"]["subject"].get<std::string>(), HasSubstr("'kind'"));
  begin(client, 3, "fine");
  EXPECT_EQ(report(client)["task"], 3);
}

TEST_F(ServiceTest, ATaskThatIsGivenUpIsEndedAndReportedSo) {
  Client client = coordinator();
  begin(client, 1, "waits");
  ASSERT_TRUE(fakes::awaits_descendants(3));
  say(client, Type::Note, {{"task", 1}});
  const Json given_up = report(client);
  EXPECT_EQ(given_up["task"], 1);
  EXPECT_EQ(given_up["error"]["reason"], "given up");
  EXPECT_TRUE(fakes::own_descendants().empty());
  begin(client, 2, "fine");
  EXPECT_EQ(report(client)["task"], 2);
  // Of one that has ended nothing is to be given up.
  say(client, Type::Note, {{"task", 2}});
  begin(client, 3, "fine");
  EXPECT_EQ(report(client)["task"], 3);
}

TEST_F(ServiceTest, WhoNeverStopsTalkingIsStillAnswered) {
  Client client = coordinator();
  begin(client, 1, "fine");
  std::atomic<bool> enough = false;
  // It sends alone: what this thread does is receive.
  std::thread talker([&] {
    while (!enough && client.channel().send({Type::Note, {{"task", 2}}}, soon())) {
    }
  });
  EXPECT_EQ(report(client)["document"]["schema"], "made/1");
  enough = true;
  talker.join();
}

TEST_F(ServiceTest, WhatRunsEndsWithItsCoordinator) {
  {
    Client client = coordinator();
    begin(client, 1, "waits");
    ASSERT_TRUE(fakes::awaits_descendants(3));
  }
  EXPECT_TRUE(fakes::awaits_none());
}

TEST_F(ServiceTest, WhatRunsEndsWithTheServer) {
  Client client = coordinator();
  begin(client, 1, "stubborn");
  ASSERT_TRUE(fakes::awaits_descendants(3));
  server_.stop();
  EXPECT_TRUE(fakes::own_descendants().empty());
}

TEST_F(ServiceTest, OneCoordinatorAtATime) {
  std::optional<Client> first = coordinator("login1");
  Client second = std::move(server_.client(std::nullopt, "login2").value());
  const Result<Json> refused = request(second);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Busy);
  EXPECT_THAT(refused.error().reason, HasSubstr("login1 (127.0.0.1)"));
  EXPECT_THAT(refused.error().next_step, HasSubstr("wait until it is over"));
  // It is not disturbed, and once it has gone the next one is let in.
  begin(*first, 1, "fine");
  EXPECT_EQ(report(*first)["task"], 1);
  begin(*first, 2, "waits");
  first.reset();
  Result<Json> let_in = request(second);
  for (int i = 0; i < 10 && !let_in; ++i) {
    let_in = request(second);
  }
  EXPECT_TRUE(let_in);
}

TEST_F(ServiceTest, TestsOfOthersPassEvenWhereServeIsExclusive) {
  fakes::ProbeServer exclusive(services(),
                               {.own = {"chokepoint test", "hubble"}, .exclusive = true});
  Client client = std::move(exclusive.client(std::nullopt, "login1").value());
  ASSERT_TRUE(request(client));
  Client other = std::move(exclusive.client(std::nullopt, "gpu1").value());
  const Result<Json> refused = request(other);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().reason, HasSubstr("preflight of login1"));
}

TEST_F(ServiceTest, WhoBreaksTheRulesIsLeft) {
  const auto why = [&](Type type, Json body) {
    Client client = coordinator();
    begin(client, 1, "waits");
    EXPECT_TRUE(client.channel().send({type, std::move(body)}, soon()));
    return describe(client.channel().expect(Type::Result, soon()).error());
  };
  Json another = json::to_json(Task{.kind = TaskKind::Tcp, .peer = "fine"});
  another["task"] = 2;
  EXPECT_THAT(why(Type::Begin, another), HasSubstr("while another was on"));
  EXPECT_THAT(why(Type::Begin, {{"task", -1}}), HasSubstr("'task'"));
  EXPECT_THAT(why(Type::Note, {{"task", "x"}}), HasSubstr("'task'"));
  EXPECT_THAT(why(Type::Report, Json::object()), HasSubstr("in the midst"));
  EXPECT_TRUE(fakes::awaits_none());
}

TEST_F(ServiceTest, GrantsNoMoreThanItsServer) {
  fakes::ProbeServer server(
      services(), {.own = {"chokepoint test", "hubble"}},
      {.longest_test = std::chrono::seconds(2), .streams = 2, .rate_bits_per_s = 1e6});
  Client client = std::move(server.client().value());
  ASSERT_TRUE(request(client));
  for (const Task& task : {Task{.kind = TaskKind::Tcp, .peer = "fine", .time = seconds(3)},
                           Task{.kind = TaskKind::Tcp, .peer = "fine", .streams = 3},
                           Task{.kind = TaskKind::Loss, .peer = "fine", .rate_bits_per_s = 2e6}}) {
    Json body = json::to_json(task);
    body["task"] = 1;
    say(client, Type::Begin, body);
    EXPECT_EQ(report(client)["error"]["kind"], "usage") << body;
  }
}

TEST(CoordinatorLock, OneAtATimeAndTheOtherIsToldWhoseItIs) {
  CoordinatorLock floor;
  {
    const Result<CoordinatorLock::Guard> first =
        floor.take({.who = "login1 (10.0.0.1)"}, milliseconds(0));
    ASSERT_TRUE(first);
    const Result<CoordinatorLock::Guard> second = floor.take({.who = "login2"}, milliseconds(0));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::Busy);
    EXPECT_THAT(describe(second.error()), HasSubstr("login1 (10.0.0.1)"));
  }
  EXPECT_TRUE(floor.take({.who = "login2"}, milliseconds(0)));
}

TEST(CoordinatorLock, AHostOfTwoNamesIsToldToBeOne) {
  CoordinatorLock floor;
  const Result<CoordinatorLock::Guard> first =
      floor.take({.who = "login1", .preflight = "a", .called = "10.0.0.7"}, milliseconds(0));
  // At once, whatever the deadline.
  const Result<CoordinatorLock::Guard> again =
      floor.take({.who = "login1", .preflight = "a"}, std::chrono::hours(1));
  ASSERT_FALSE(again);
  EXPECT_THAT(describe(again.error()), HasSubstr("takes part already, as 10.0.0.7"));
  // Those who do not say what they belong to belong to nothing.
  CoordinatorLock other;
  const Result<CoordinatorLock::Guard> unnamed = other.take({.who = "login1"}, milliseconds(0));
  EXPECT_THAT(describe(other.take({.who = "login1"}, milliseconds(0)).error()),
              HasSubstr("the preflight of login1 is on"));
}

TEST(CoordinatorLock, WhoComesWhileTheOtherLeavesIsLetIn) {
  CoordinatorLock floor;
  std::optional<CoordinatorLock::Guard> first(
      std::move(floor.take({.who = "login1"}, milliseconds(0)).value()));
  std::thread leaving([&] {
    std::this_thread::sleep_for(milliseconds(20));
    first.reset();
  });
  EXPECT_TRUE(floor.take({.who = "login2"}, std::chrono::seconds(60)));
  leaving.join();
}

}  // namespace

}  // namespace chokepoint::preflight
