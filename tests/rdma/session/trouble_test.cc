// Tests that go wrong at one of the ends, over all sources of rdma/session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "rdma/session/round.h"
#include "tests/rdma/session/two_hosts.h"

namespace chokepoint::rdma::session {
namespace {

using control::Json;
using control::Type;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

net::Deadline soon() { return net::Deadline::of(seconds(10)); }

class TroubleTest : public TwoHosts {
 protected:
  static Parameters endless() { return {.time = seconds(60)}; }
  static Parameters brief() { return {.iterations = 10}; }

  // Until the test's queue pairs are there on both sides.
  void await_test() {
    while (fabric_.traffic("fake0").connected == 0 || fabric_.traffic("fake0").messages == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  void await_nothing_there() {
    const net::Deadline deadline = soon();
    while (fabric_.traffic("fake1").queue_pairs + fabric_.traffic("fake1").regions > 0 &&
           !deadline.over()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(fabric_.traffic("fake1").queue_pairs, 0);
    EXPECT_EQ(fabric_.traffic("fake1").regions, 0);
  }
};

TEST_F(TroubleTest, NoDeviceHereIsToldWithoutAskingTheServer) {
  here_.remove("/sys/class/infiniband");
  EXPECT_THAT(refusal(brief()),
              AllOf(HasSubstr("this host has no RDMA device"), Not(HasSubstr("says"))));
}

TEST_F(TroubleTest, NoDeviceThereIsToldOfThePeer) {
  there_.remove("/sys/class/infiniband");
  EXPECT_THAT(refusal(brief()), HasSubstr(" says: RDMA: this host has no RDMA device"));
}

TEST_F(TroubleTest, AQueuePairThatCannotBeMadeIsToldBeforeTheTestBegins) {
  fabric_.set_faults("fake0", {.create_queue_pair = EAGAIN});
  EXPECT_THAT(refusal(brief()), HasSubstr("create queue pair: fake0"));
  fabric_.set_faults("fake0", {});
  fabric_.set_faults("fake1", {.create_queue_pair = EAGAIN});
  EXPECT_THAT(refusal(brief()), AllOf(HasSubstr("create queue pair"), HasSubstr("says: fake1")));
  expect_nothing_left();
}

TEST_F(TroubleTest, MemoryThatCannotBeRegisteredIsToldOfEitherSide) {
  fabric_.set_faults("fake0", {.register_memory = EINVAL});
  EXPECT_THAT(refusal(brief()), HasSubstr("register memory: fake0"));
  fabric_.set_faults("fake0", {});
  fabric_.set_faults("fake1", {.register_memory = EINVAL});
  EXPECT_THAT(refusal(brief()), AllOf(HasSubstr("register memory"), HasSubstr("says: fake1")));
  expect_nothing_left();
}

TEST_F(TroubleTest, AConnectionThatFailsIsToldOfEitherSide) {
  fabric_.set_faults("fake1", {.connect = ETIMEDOUT});
  EXPECT_THAT(refusal(brief()), AllOf(HasSubstr("connect queue pair"), HasSubstr("says: fake1")));
  fabric_.set_faults("fake1", {});
  fabric_.set_faults("fake0", {.connect = ETIMEDOUT});
  EXPECT_THAT(refusal(brief()), HasSubstr("connect queue pair: fake0"));
  expect_nothing_left();
}

TEST_F(TroubleTest, MismatchesAreExplainedInThisSidesWords) {
  wish_.gid_index = 3;
  Parameters parameters = brief();
  parameters.server_port.gid_index = 2;
  EXPECT_THAT(refusal(parameters), HasSubstr("RoCE version: fake0 of voyager: RoCE v2, fake1 of "
                                             "hubble: RoCE v1"));
  parameters.server_port.gid_index = 7;
  EXPECT_THAT(refusal(parameters), HasSubstr("GID index 7 of fake1 port 1: there is no such GID"));
  parameters.server_port = {.device = "mlx5_0"};
  EXPECT_THAT(refusal(parameters), HasSubstr("there is fake1 port 1"));
}

TEST_F(TroubleTest, WhatTheServerDoesNotGrantIsRefused) {
  limits_.longest_test = seconds(5);
  limits_.streams = 2;
  limits_.buffer_bytes = 4096;
  EXPECT_THAT(refusal(endless()), HasSubstr("--time 1.00 min"));
  Parameters parameters = brief();
  parameters.queue_pairs = 3;
  EXPECT_THAT(refusal(parameters), HasSubstr("--queue-pairs 3: the server grants at most 2"));
  EXPECT_THAT(refusal(brief()), HasSubstr("the test needs a buffer of"));
  expect_nothing_left();
}

TEST_F(TroubleTest, AWrongKeyOpensNothing) {
  key_ = control::random_secret();
  std::ignore = server();
  key_ = control::random_secret();
  EXPECT_THAT(refusal(brief()), HasSubstr("key"));
  EXPECT_EQ(fabric_.traffic("fake0").opened, 0);
  EXPECT_EQ(fabric_.traffic("fake1").opened, 0);
}

TEST_F(TroubleTest, AWireThatIsCutIsAnErrorAndNoHang) {
  fabric_.set_faults("fake0", {.unplugged = true});
  const Result<Trial> trial = run(endless());
  ASSERT_FALSE(trial);
  EXPECT_THAT(describe(trial.error()), HasSubstr("127.0.0.1"));
  expect_nothing_left();
}

TEST_F(TroubleTest, AServerThatGoesMidwayIsToldAsSuch) {
  std::thread stopper([&] {
    await_test();
    server_->stop();
  });
  const std::string refused = refusal(endless());
  stopper.join();
  EXPECT_THAT(refused, testing::AnyOf(HasSubstr("the server is being stopped"),
                                      HasSubstr("the peer has gone")));
  expect_nothing_left();
}

TEST_F(TroubleTest, AClientThatGoesMidwayLeavesNothingBehind) {
  Result<control::Client> client = server().client(key_);
  ASSERT_TRUE(client);
  std::thread killer([&] {
    await_test();
    ::shutdown(client->channel().descriptor(), SHUT_RDWR);
  });
  const Result<Trial> trial = run_with(*client, endless());
  killer.join();
  ASSERT_FALSE(trial);
  EXPECT_THAT(describe(trial.error()), HasSubstr("the peer has gone"));
  await_nothing_there();
}

// Or a client that says it again and again would be listened to for as long as it likes.
TEST(WatchTest, ATestIsStoppedOnce) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  control::Channel own(sys::Descriptor{ends[0]}, "client", control::kMaxFromClient);
  control::Channel client(sys::Descriptor{ends[1]}, "server", control::kMaxFromServer);
  Watch watch(own, -1, seconds(10), false);
  ASSERT_TRUE(client.send({Type::Stop, Json::object()}, soon()));
  EXPECT_TRUE(watch.go_on());
  ASSERT_TRUE(client.send({Type::Stop, Json::object()}, soon()));
  const Result<bool> again = watch.go_on();
  ASSERT_FALSE(again);
  EXPECT_THAT(describe(again.error()), HasSubstr("it stopped a test twice"));
}

// What a client says before it is silent, or says nonsense.
class RudeClientTest : public TroubleTest {
 protected:
  void SetUp() override {
    client_.emplace(server().client(key_).value());
    Json parameters = body_of(brief());
    parameters["side"] = body_of(SideFacts{.device = "fake0",
                                           .ethernet = true,
                                           .gid_index = 3,
                                           .gid = gid_of(net::Address::parse("192.0.2.1").value()),
                                           .gid_type = verbs::GidType::RoceV2,
                                           .active_mtu_bytes = 4096,
                                           .max_mtu_bytes = 4096,
                                           .limits = {.queue_pairs = 10,
                                                      .depth = 1024,
                                                      .completions = 4096,
                                                      .reads_as_target = 1,
                                                      .reads_as_source = 1}});
    parameters_ = std::move(parameters);
  }

  Result<Json> ask() {
    return client_->request("rdma", parameters_, soon(), [](const std::string&) {});
  }
  std::string answer_to(Type type, Json body) {
    EXPECT_TRUE(client_->channel().send({type, std::move(body)}, soon()));
    const Result<control::Message> answer = client_->channel().expect(Type::Begin, soon());
    return answer ? "Begin" : describe(answer.error());
  }

  std::optional<control::Client> client_;
  Json parameters_;
};

TEST_F(RudeClientTest, ARequestWithoutASideIsRefused) {
  parameters_.erase("side");
  const Result<Json> ready = ask();
  ASSERT_FALSE(ready);
  EXPECT_THAT(describe(ready.error()), HasSubstr("rdma side: wanted an object"));
}

TEST_F(RudeClientTest, NonsenseInTheMiddleEndsTheTest) {
  for (const auto& [type, body] : std::vector<std::pair<Type, Json>>{
           {Type::Begin, Json::object()},
           {Type::Begin, {{"round", 0}, {"plan", Json::object()}, {"client", Json::object()}}},
           {Type::Begin, {{"round", 7}, {"plan", 3}, {"client", 4}}},
           {Type::Report, Json::object()},
           {Type::Note, Json::object()}}) {
    ASSERT_TRUE(ask());
    EXPECT_NE(answer_to(type, body), "Begin") << body;
    await_nothing_there();
  }
}

TEST_F(RudeClientTest, OneThatLeavesBeforeARoundLeavesNothing) {
  ASSERT_TRUE(ask());
  client_.reset();
  await_nothing_there();
}

TEST(UnprovedGid, OfRoceIsTheAddressOfItsClientWhichMayBeThisHost) {
  const auto allows = [](const char* gid, const char* client, bool ethernet = true) {
    return check_unproved_gid(gid_of(net::Address::parse(gid).value()), {.ethernet = ethernet},
                              net::Address::parse(client).value())
        .has_value();
  };
  EXPECT_TRUE(allows("10.0.0.2", "10.0.0.2"));
  EXPECT_TRUE(allows("10.0.0.2", "::ffff:10.0.0.2"));
  EXPECT_TRUE(allows("2001:db8::2", "2001:db8::2"));
  EXPECT_TRUE(allows("10.0.0.3", "127.0.0.1"));
  EXPECT_TRUE(allows("fe80::1", "10.0.0.2", false));
  EXPECT_FALSE(allows("10.0.0.3", "10.0.0.2"));
  EXPECT_FALSE(allows("a00:2::", "10.0.0.2"));
}

}  // namespace
}  // namespace chokepoint::rdma::session
