#include "rdma/session/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <thread>

#include "tests/rdma/session/two_hosts.h"

namespace chokepoint::rdma::session {
namespace {

using perf::Metric;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using verbs::Operation;
using verbs::Transport;

using TrialTest = TwoHosts;

Parameters some(Operation operation, Metric metric = Metric::Bandwidth) {
  Parameters parameters{.operation = operation, .metric = metric, .iterations = 200};
  parameters.sizes = {verbs::is_atomic(operation) ? kAtomicBytes : 4096};
  return parameters;
}

constexpr std::array kOperations{Operation::Write,       Operation::WriteImmediate,
                                 Operation::Read,        Operation::Send,
                                 Operation::FetchAndAdd, Operation::CompareAndSwap};

TEST_F(TrialTest, EveryOperationHasABandwidth) {
  for (const Operation operation : kOperations) {
    const Result<Trial> trial = run(some(operation));
    ASSERT_TRUE(trial) << name_of(operation) << ": " << describe(trial.error());
    ASSERT_EQ(trial->rounds.size(), 1U);
    const SideResult& client = trial->rounds.front().client;
    EXPECT_EQ(client.messages, 200U) << name_of(operation);
    EXPECT_EQ(client.bytes, 200U * trial->parameters.sizes.front());
    EXPECT_GT(client.average_mbps.value_or(0), 0);
  }
  expect_nothing_left();
}

TEST_F(TrialTest, EveryOperationHasALatency) {
  for (const Operation operation : kOperations) {
    const Result<Trial> trial = run(some(operation, Metric::Latency));
    ASSERT_TRUE(trial) << name_of(operation) << ": " << describe(trial.error());
    const SideResult& client = trial->rounds.front().client;
    ASSERT_TRUE(client.latency_ns) << name_of(operation);
    EXPECT_EQ(client.latency_ns->count(), 200U) << name_of(operation);
  }
}

TEST_F(TrialTest, WhoReceivesCountsWhatCame) {
  const Result<Trial> trial = run(some(Operation::Send));
  ASSERT_TRUE(trial) << describe(trial.error());
  EXPECT_EQ(trial->rounds.front().server.messages, 200U);
}

TEST_F(TrialTest, BothSidesAreKnown) {
  const Result<Trial> trial = run(some(Operation::Write));
  ASSERT_TRUE(trial);
  EXPECT_EQ(trial->client.device, "fake0");
  EXPECT_EQ(trial->server.device, "fake1");
  EXPECT_EQ(text_of(trial->server.gid), "192.0.2.2");
  EXPECT_EQ(trial->server.gid_type, verbs::GidType::RoceV2);
}

TEST_F(TrialTest, BothWaysHaveTwoActiveSides) {
  for (const Operation operation : {Operation::Write, Operation::Read, Operation::Send}) {
    Parameters parameters = some(operation);
    parameters.both_ways = true;
    const Result<Trial> trial = run(parameters);
    ASSERT_TRUE(trial) << name_of(operation) << ": " << describe(trial.error());
    EXPECT_EQ(trial->rounds.front().client.messages, 200U);
    EXPECT_EQ(trial->rounds.front().server.messages, 200U);
  }
}

TEST_F(TrialTest, ASweepIsARoundEachSize) {
  for (const Operation operation : {Operation::Write, Operation::Send}) {
    rounds_ = 0;
    Parameters parameters = some(operation);
    parameters.sizes = {2, 64, 65536, 4};
    const Result<Trial> trial = run(parameters);
    ASSERT_TRUE(trial) << describe(trial.error());
    ASSERT_EQ(trial->rounds.size(), 4U);
    EXPECT_EQ(rounds_, 4);
    EXPECT_EQ(trial->rounds[2].client.bytes, 200U * 65536);
    EXPECT_EQ(trial->rounds[3].client.bytes, 200U * 4);
  }
}

TEST_F(TrialTest, ASweepThatFailsTellsWhatItHas) {
  fabric_.set_faults("fake0", {.failing_message = 250});
  Parameters parameters = some(Operation::Write);
  parameters.sizes = {2, 64, 4};
  const Result<Trial> trial = run(parameters);
  ASSERT_TRUE(trial) << describe(trial.error());
  ASSERT_EQ(trial->rounds.size(), 1U);
  EXPECT_EQ(trial->rounds[0].client.messages, 200U);
  ASSERT_TRUE(trial->failure);
  EXPECT_THAT(describe(*trial->failure), HasSubstr("acknowledge"));
  expect_nothing_left();
}

TEST_F(TrialTest, SeveralQueuePairsShareTheWork) {
  Parameters parameters = some(Operation::Send);
  parameters.queue_pairs = 4;
  const Result<Trial> trial = run(parameters);
  ASSERT_TRUE(trial) << describe(trial.error());
  EXPECT_EQ(trial->rounds.front().client.messages, 800U);
  EXPECT_EQ(trial->rounds.front().server.messages, 800U);
}

TEST_F(TrialTest, ATimeEndsATest) {
  for (const Operation operation : {Operation::Write, Operation::Send}) {
    Parameters parameters = some(operation);
    parameters.iterations.reset();
    parameters.time = milliseconds(100);
    const Result<Trial> trial = run(parameters);
    ASSERT_TRUE(trial) << describe(trial.error());
    EXPECT_GT(trial->rounds.front().client.messages, 0U);
  }
}

TEST_F(TrialTest, DatagramsThatGetLostAreMissedByTheReceiver) {
  fabric_.set_faults("fake0", {.lose_every = 10});
  Parameters parameters = some(Operation::Send);
  parameters.transport = Transport::Ud;
  parameters.sizes = {512};
  const Result<Trial> trial = run(parameters);
  ASSERT_TRUE(trial) << describe(trial.error());
  EXPECT_EQ(trial->rounds.front().client.messages, 200U);
  EXPECT_LT(trial->rounds.front().server.messages, 200U);
}

TEST_F(TrialTest, WhatIsCheckedAndWholeHasNoMismatch) {
  for (const Operation operation : {Operation::Write, Operation::Read, Operation::Send}) {
    Parameters parameters = some(operation);
    parameters.check = true;
    const Result<Trial> trial = run(parameters);
    ASSERT_TRUE(trial) << name_of(operation) << ": " << describe(trial.error());
    const Round& round = trial->rounds.front();
    EXPECT_EQ(round.client.mismatches.value_or(0) + round.server.mismatches.value_or(0), 0U);
    EXPECT_TRUE(operation == Operation::Read ? round.client.mismatches.has_value()
                                             : round.server.mismatches.has_value())
        << name_of(operation);
  }
}

TEST_F(TrialTest, WhatWasSpoiltOnTheWayIsFound) {
  const auto spoil = [](std::uint64_t message, std::span<std::byte> data) {
    if (message % 200 == 199 && !data.empty()) {
      data.front() ^= std::byte{0xff};
    }
  };
  for (const Operation operation : {Operation::Write, Operation::Send}) {
    fabric_.set_faults("fake0", {.spoil = spoil});
    Parameters parameters = some(operation);
    parameters.check = true;
    const Result<Trial> trial = run(parameters);
    ASSERT_TRUE(trial) << describe(trial.error());
    EXPECT_EQ(trial->rounds.front().server.mismatches, 1U) << name_of(operation);
    fabric_.set_faults("fake0", {});
  }
}

TEST_F(TrialTest, AnInterruptedTestTellsWhatItHas) {
  const sys::Descriptor interrupt(eventfd(0, EFD_CLOEXEC));
  interrupt_ = interrupt.get();
  Parameters parameters = some(Operation::Write);
  parameters.iterations.reset();
  parameters.time = seconds(60);
  std::thread user([&] {
    std::this_thread::sleep_for(milliseconds(300));
    const std::uint64_t one = 1;
    EXPECT_EQ(write(interrupt.get(), &one, sizeof(one)), ssize_t{sizeof(one)});
  });
  const Result<Trial> trial = run(parameters);
  user.join();
  ASSERT_TRUE(trial) << describe(trial.error());
  EXPECT_TRUE(trial->interrupted);
  EXPECT_GT(trial->rounds.front().client.messages, 0U);
  expect_nothing_left();
}

TEST_F(TrialTest, ASweepInterruptedBetweenTwoSizesTellsWhatItHas) {
  const sys::Descriptor interrupt(eventfd(0, EFD_CLOEXEC));
  interrupt_ = interrupt.get();
  on_round_ = [&] {
    const std::uint64_t one = 1;
    EXPECT_EQ(write(interrupt.get(), &one, sizeof(one)), ssize_t{sizeof(one)});
  };
  Parameters parameters = some(Operation::Write);
  parameters.sizes = {2, 64};
  const Result<Trial> trial = run(parameters);
  ASSERT_TRUE(trial) << describe(trial.error());
  EXPECT_EQ(trial->rounds.size(), 1U);
  EXPECT_TRUE(trial->interrupted);
  EXPECT_FALSE(trial->failure) << "nothing failed";
}

TEST_F(TrialTest, AServerThatGoesAfterTheLastSizeTakesNoResultWithIt) {
  on_round_ = [this] { server_->stop(); };
  const Result<Trial> trial = run(some(Operation::Write));
  ASSERT_TRUE(trial) << describe(trial.error());
  EXPECT_EQ(trial->rounds.size(), 1U);
  EXPECT_TRUE(trial->failure);
}

}  // namespace
}  // namespace chokepoint::rdma::session
