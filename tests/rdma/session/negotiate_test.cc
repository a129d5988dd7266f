#include "rdma/session/negotiate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include "tests/fakes/golden.h"

namespace chokepoint::rdma::session {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

SideFacts side(const std::string& device, const std::string& gid) {
  return {.device = device,
          .ethernet = true,
          .gid_index = 1,
          .gid = gid_of(net::Address::parse(gid).value()),
          .gid_type = verbs::GidType::RoceV2,
          .active_mtu_bytes = 4096,
          .max_mtu_bytes = 4096,
          .limits = {.queue_pairs = 1000,
                     .depth = 8192,
                     .completions = 32768,
                     .reads_as_target = 16,
                     .reads_as_source = 128,
                     .atomics = true}};
}

class NegotiateTest : public testing::Test {
 protected:
  Result<Agreement> agree() const {
    return negotiate(parameters_, client_, server_, {.client = "voyager", .server = "hubble"});
  }
  // What is refused.
  std::string refused() const {
    const Result<Agreement> agreement = agree();
    return agreement ? "nothing" : agreement.error().subject;
  }

  Parameters parameters_{.time = seconds(1)};
  SideFacts client_ = side("mlx5_0", "10.0.0.1");
  SideFacts server_ = side("mlx5_3", "10.0.0.2");
};

TEST_F(NegotiateTest, WhatWasLeftOpenIsAsUsual) {
  const Result<Agreement> agreement = agree();
  ASSERT_TRUE(agreement) << describe(agreement.error());
  EXPECT_EQ(agreement->mtu_bytes, 4096);
  EXPECT_THAT(agreement->lowered, ElementsAre());
  ASSERT_EQ(agreement->rounds.size(), 1U);
  const perf::Plan& plan = agreement->rounds.front();
  EXPECT_EQ(plan.depth, 128);
  EXPECT_EQ(plan.receive_depth, 512);
  EXPECT_EQ(plan.moderation, 1) << "of messages above 8 KiB each is heard of";
  EXPECT_EQ(plan.inline_bytes, 0);
  EXPECT_EQ(plan.time, seconds(1));
}

TEST_F(NegotiateTest, SmallMessagesAreModerated) {
  parameters_.sizes = {8192, 8193};
  EXPECT_EQ(agree()->rounds[0].moderation, 100);
  EXPECT_EQ(agree()->rounds[1].moderation, 1);
  parameters_.depth = 16;
  EXPECT_EQ(agree()->rounds[0].moderation, 16) << "or the queue fills up before a completion";
  parameters_.moderation = 4;
  EXPECT_EQ(agree()->rounds[0].moderation, 4);
}

TEST_F(NegotiateTest, AModerationThatWasAskedForIsNotCutToTheUsualDepth) {
  parameters_.moderation = 1000;
  EXPECT_EQ(refused(), "--moderation 1000");
  parameters_.depth = 1000;
  EXPECT_EQ(agree()->rounds[0].moderation, 1000);
}

TEST_F(NegotiateTest, SmallMessagesOfLatencyTravelInTheRequest) {
  parameters_.metric = perf::Metric::Latency;
  parameters_.sizes = {2, 4096};
  EXPECT_EQ(agree()->rounds[0].inline_bytes, 220);
  EXPECT_EQ(agree()->rounds[1].inline_bytes, 0);
  parameters_.operation = verbs::Operation::Read;
  EXPECT_EQ(agree()->rounds[0].inline_bytes, 0);
}

TEST_F(NegotiateTest, TheLowerMtuIsTakenAndTold) {
  server_.active_mtu_bytes = 1024;
  const Result<Agreement> agreement = agree();
  ASSERT_TRUE(agreement);
  EXPECT_EQ(agreement->mtu_bytes, 1024);
  EXPECT_EQ(agreement->lowered.size(), 1U);
}

TEST_F(NegotiateTest, AnMtuThatWasAskedForIsKeptOrRefused) {
  parameters_.mtu_bytes = 1024;
  EXPECT_EQ(agree()->mtu_bytes, 1024);
  server_.active_mtu_bytes = 512;
  EXPECT_EQ(refused(), "--mtu 1024");
  EXPECT_EQ(agree().error().kind, ErrorKind::Usage);
}

TEST_F(NegotiateTest, FabricsThatDoNotMeetAreNamed) {
  server_.ethernet = false;
  EXPECT_EQ(refused(), "link layer");
}

TEST_F(NegotiateTest, GidsThatDoNotReachEachOtherAreNamed) {
  server_.gid_type = verbs::GidType::RoceV1;
  EXPECT_EQ(refused(), "RoCE version");
  server_ = side("mlx5_3", "2001:db8::2");
  EXPECT_EQ(refused(), "GID");
}

TEST_F(NegotiateTest, OnInfiniBandGidsAreNotCompared) {
  client_.ethernet = server_.ethernet = false;
  server_.gid = gid_of(net::Address::parse("fe80::1").value());
  EXPECT_TRUE(agree());
}

TEST_F(NegotiateTest, AUsualDepthThatADeviceLacksIsLoweredAndTold) {
  server_.limits.depth = 64;
  const Result<Agreement> agreement = agree();
  ASSERT_TRUE(agreement);
  EXPECT_EQ(agreement->rounds.front().depth, 64);
  EXPECT_EQ(agreement->lowered.size(), 2U) << "the depth of either queue";
}

TEST_F(NegotiateTest, LargeMessagesAreFewerAtATime) {
  parameters_.sizes = {65536, 1 << 20, 8 << 20};
  parameters_.moderation = 100;
  const Result<Agreement> agreement = agree();
  ASSERT_TRUE(agreement) << describe(agreement.error());
  EXPECT_EQ(agreement->rounds[0].depth, 128);
  EXPECT_EQ(agreement->rounds[1].depth, 64);
  EXPECT_EQ(agreement->rounds[2].depth, 8);
  EXPECT_EQ(agreement->rounds[2].moderation, 8) << "or nothing would ever complete";
  parameters_.depth = 100;
  EXPECT_EQ(agree()->rounds[2].depth, 100);
}

TEST_F(NegotiateTest, ADepthThatWasAskedForIsNeverCut) {
  parameters_.depth = 128;
  server_.limits.depth = 64;
  EXPECT_EQ(refused(), "--depth 128");
}

TEST_F(NegotiateTest, QueuePairsShareOneCompletionQueue) {
  parameters_.queue_pairs = 100;
  client_.limits.completions = 10'000;
  EXPECT_EQ(agree()->rounds.front().receive_depth, 100);
  parameters_.depth = 101;
  EXPECT_EQ(refused(), "--depth 101");
}

TEST_F(NegotiateTest, MoreQueuePairsThanThereAreAreRefused) {
  parameters_.queue_pairs = 2000;
  EXPECT_EQ(refused(), "--queue-pairs 2000");
}

TEST_F(NegotiateTest, ADatagramFitsIntoOnePacket) {
  parameters_.operation = verbs::Operation::Send;
  parameters_.transport = verbs::Transport::Ud;
  EXPECT_EQ(refused(), "--bytes 65536");
  parameters_.sizes = {2048, 4096, 8192};
  EXPECT_EQ(agree()->rounds.size(), 2U) << "a sweep ends there";
  EXPECT_EQ(agree()->lowered.size(), 1U);
  parameters_.sizes = {2048, 4096};
  EXPECT_THAT(agree()->lowered, ElementsAre());
}

TEST_F(NegotiateTest, AtomicsWantADeviceThatHasThem) {
  parameters_.operation = verbs::Operation::FetchAndAdd;
  parameters_.sizes = {8};
  EXPECT_TRUE(agree());
  server_.limits.atomics = false;
  EXPECT_EQ(refused(), "mlx5_3 of hubble");
}

// Each on its own: from the fixture's sides and parameters.
TEST_F(NegotiateTest, PictureOfRefusalsAndOfWhatIsLowered) {
  fakes::Sentences sentences;
  const auto add = [&](const char* what, const std::function<void()>& change) {
    const auto before = std::tuple(parameters_, client_, server_);
    change();
    const Result<Agreement> agreement = agree();
    if (!agreement) {
      sentences.add(what, describe(agreement.error()));
    } else {
      for (const std::string& each : agreement->lowered) {
        sentences.add(what, each);
      }
    }
    std::tie(parameters_, client_, server_) = before;
  };
  add("fabrics that do not meet", [this] { server_.ethernet = false; });
  add("two versions of RoCE", [this] { server_.gid_type = verbs::GidType::RoceV1; });
  add("GIDs of two families", [this] { server_ = side("mlx5_3", "2001:db8::2"); });
  add("an MTU above a port's", [this] {
    parameters_.mtu_bytes = 1024;
    server_.active_mtu_bytes = 512;
  });
  add("ports of two MTUs", [this] { server_.active_mtu_bytes = 1024; });
  add("a moderation above the usual depth", [this] { parameters_.moderation = 1000; });
  add("a post above the depth", [this] { parameters_.post_list = 1000; });
  add("a depth that a device lacks", [this] {
    parameters_.depth = 128;
    server_.limits.depth = 64;
  });
  add("a usual depth that a device lacks", [this] { server_.limits.depth = 64; });
  add("queue pairs that a device lacks", [this] { parameters_.queue_pairs = 2000; });
  add("atomic operations that a device lacks", [this] {
    parameters_.operation = verbs::Operation::FetchAndAdd;
    parameters_.sizes = {8};
    server_.limits.atomics = false;
  });
  parameters_.operation = verbs::Operation::Send;
  parameters_.transport = verbs::Transport::Ud;
  add("a datagram of several packets", [] {});
  add("a sweep of datagrams", [this] { parameters_.sizes = {2048, 4096, 8192}; });
  EXPECT_GOLDEN("sentences_rdma_agreements", sentences.text());
}

TEST_F(NegotiateTest, ReadsUnderWayAreWhatBothSidesHold) {
  const Agreement agreement = agree().value();
  const verbs::PathOptions here = path_of(parameters_, agreement, client_, server_);
  EXPECT_EQ(here.reads_as_source, 16);
  EXPECT_EQ(here.reads_as_target, 16);
  server_.limits.reads_as_target = 0;
  EXPECT_EQ(path_of(parameters_, agreement, client_, server_).reads_as_source, 1);
}

TEST_F(NegotiateTest, BothSidesUnderstandARoundAlike) {
  parameters_.iterations = 1000;
  parameters_.time.reset();
  const Agreement agreement = agree().value();
  EXPECT_EQ(body_of(agreement.rounds.front()), body_of(agree()->rounds.front()));
  parameters_.depth = 8;
  EXPECT_NE(body_of(agreement.rounds.front()), body_of(agree()->rounds.front()));
}

}  // namespace
}  // namespace chokepoint::rdma::session
