#include "rdma/session/negotiate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::rdma::session {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

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
  std::string refusal() const {
    const Result<Agreement> agreement = agree();
    return agreement ? "an agreement" : describe(agreement.error());
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
  EXPECT_THAT(refusal(), HasSubstr("--moderation 1000: a queue of depth 128 fills up before"));
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
  EXPECT_THAT(agreement->lowered,
              ElementsAre("MTU 1024, the lower of both (mlx5_0 of voyager: 4096, mlx5_3 of hubble: "
                          "1024)"));
}

TEST_F(NegotiateTest, AnMtuThatWasAskedForIsKeptOrRefused) {
  parameters_.mtu_bytes = 1024;
  EXPECT_EQ(agree()->mtu_bytes, 1024);
  server_.active_mtu_bytes = 512;
  EXPECT_THAT(refusal(), HasSubstr("--mtu 1024: the ports carry less: mlx5_0 of voyager: 4096, "
                                   "mlx5_3 of hubble: 512"));
  EXPECT_EQ(agree().error().kind, ErrorKind::Usage);
}

TEST_F(NegotiateTest, FabricsThatDoNotMeetAreNamed) {
  server_.ethernet = false;
  EXPECT_THAT(refusal(), HasSubstr("link layer: mlx5_0 of voyager: Ethernet, mlx5_3 of hubble: "
                                   "InfiniBand"));
}

TEST_F(NegotiateTest, GidsThatDoNotReachEachOtherAreNamed) {
  server_.gid_type = verbs::GidType::RoceV1;
  EXPECT_THAT(refusal(), HasSubstr("RoCE version: mlx5_0 of voyager: RoCE v2, mlx5_3 of hubble: "
                                   "RoCE v1"));
  server_ = side("mlx5_3", "2001:db8::2");
  EXPECT_THAT(refusal(), HasSubstr("10.0.0.1, mlx5_3 of hubble: 2001:db8::2: the families differ"));
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
  EXPECT_THAT(agreement->lowered.front(), HasSubstr("depth 64 instead of 128"));
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
  EXPECT_THAT(refusal(), HasSubstr("--depth 128: with 1 queue pairs the devices hold less"));
}

TEST_F(NegotiateTest, QueuePairsShareOneCompletionQueue) {
  parameters_.queue_pairs = 100;
  client_.limits.completions = 10'000;
  EXPECT_EQ(agree()->rounds.front().receive_depth, 100);
  parameters_.depth = 101;
  EXPECT_THAT(refusal(), HasSubstr("with 100 queue pairs"));
}

TEST_F(NegotiateTest, MoreQueuePairsThanThereAreAreRefused) {
  parameters_.queue_pairs = 2000;
  EXPECT_THAT(refusal(), HasSubstr("--queue-pairs 2000: the devices have fewer"));
}

TEST_F(NegotiateTest, ADatagramFitsIntoOnePacket) {
  parameters_.operation = verbs::Operation::Send;
  parameters_.transport = verbs::Transport::Ud;
  EXPECT_THAT(refusal(), HasSubstr("fits into one packet of 4096 bytes"));
  parameters_.sizes = {2048, 4096, 8192};
  EXPECT_EQ(agree()->rounds.size(), 2U) << "a sweep ends there";
  EXPECT_THAT(agree()->lowered, ElementsAre(HasSubstr("2 sizes instead of 3")));
  parameters_.sizes = {2048, 4096};
  EXPECT_THAT(agree()->lowered, ElementsAre());
}

TEST_F(NegotiateTest, AtomicsWantADeviceThatHasThem) {
  parameters_.operation = verbs::Operation::FetchAndAdd;
  parameters_.sizes = {8};
  EXPECT_TRUE(agree());
  server_.limits.atomics = false;
  EXPECT_THAT(refusal(), HasSubstr("mlx5_3 of hubble: the device has no atomic operations"));
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
