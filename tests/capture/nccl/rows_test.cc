#include "capture/nccl/rows.h"

#include <gtest/gtest.h>

#include "tests/capture/nccl/made_entries.h"

namespace chokepoint::capture::nccl {
namespace {

using record::Collective;
using record::CollectiveKind;

constexpr Membership kMember{.hash = 0x1234'5678'9abc'def0, .rank = 2, .ranks = 4, .nodes = 2};

Operation all_reduce() {
  return {.id = 1,
          .communicator = 1,
          .function = Function::AllReduce,
          .sequence = 9,
          .bytes = 4'000,
          .channels = 2,
          .algorithm = Algorithm::Ring,
          .protocol = Protocol::Simple,
          .enqueued_ns = 5 * kMs,
          .proxies = 2,
          .proxy_begin_ns = 10 * kMs,
          .proxy_end_ns = 90 * kMs,
          .sent_data_ns = 40 * kMs,
          .received_data_ns = 60 * kMs,
          .touched_ns = 200 * kMs};
}

Collective row_of(const Operation& operation, const GpuClock& clock = {},
                  std::optional<std::int64_t> rank = {}) {
  return Rows().row_of(operation, &kMember, clock, rank);
}

TEST(NcclRows, TellsWhatItWasAndWhoCameWhen) {
  const Collective row = row_of(all_reduce());
  EXPECT_EQ(row.kind, CollectiveKind::AllReduce);
  EXPECT_EQ(row.source, record::CollectiveSource::Nccl);
  EXPECT_EQ(row.number, 9);
  EXPECT_EQ(row.rank.value(), 2);
  EXPECT_EQ(row.bytes.value(), 4'000);
  EXPECT_EQ(row.own_ready_ns.value(), 40 * kMs);
  EXPECT_EQ(row.peer_ready_ns.value(), 60 * kMs);
  EXPECT_EQ(row.waited_ns.value(), 20 * kMs);
  EXPECT_EQ(row.kept_waiting_ns.value(), 0);
  EXPECT_EQ(row.start_ns, 40 * kMs);
  EXPECT_EQ(row.end_ns, 90 * kMs);
  EXPECT_EQ(row.algorithm, record::CollectiveAlgorithm::Ring);
  EXPECT_EQ(row.protocol, record::CollectiveProtocol::Simple);
  EXPECT_EQ(row.channels.value(), 2);
  EXPECT_FALSE(row.peer.known());
  EXPECT_FALSE(row.gpu_wait_ns.known());
}

TEST(NcclRows, TheKernelKnowsBestByTheHostsClock) {
  Operation operation = all_reduce();
  operation.kernels = 2;
  operation.kernel_begin_ns = 1'020 * kMs;
  operation.kernel_end_ns = 1'095 * kMs;
  GpuClock clock;
  clock.learn(1'000 * kMs, 0);
  const Collective row = row_of(operation, clock);
  EXPECT_EQ(row.own_ready_ns.value(), 20 * kMs);
  EXPECT_EQ(row.end_ns, 95 * kMs);
}

TEST(NcclRows, AKernelOfAnotherAgeIsNotBelieved) {
  Operation operation = all_reduce();
  operation.kernel_begin_ns = 1;
  operation.kernel_end_ns = std::int64_t{1} << 61;
  GpuClock clock;
  clock.learn(1'000 * kMs, 0);
  const Collective row = row_of(operation, clock);
  EXPECT_EQ(row.own_ready_ns.value(), 40 * kMs);
  EXPECT_EQ(row.end_ns, 90 * kMs);
}

TEST(NcclRows, TheJobsRankIsPreferred) { EXPECT_EQ(row_of(all_reduce(), {}, 6).rank.value(), 6); }

TEST(NcclRows, WhatATreesRankPassesOnIsNotItsArrival) {
  Operation operation = all_reduce();
  operation.algorithm = Algorithm::Tree;
  operation.sent_data_ns = 60 * kMs + 1'000;
  EXPECT_FALSE(row_of(operation).own_ready_ns.known());
  EXPECT_EQ(row_of(operation).start_ns, 10 * kMs);
  operation.sent_data_ns = 80 * kMs;  // its own data came last
  EXPECT_EQ(row_of(operation).own_ready_ns.value(), 80 * kMs);
}

TEST(NcclRows, WhoOnlyReceivesCameWhenItTookWhatHadBeenThere) {
  Operation operation = all_reduce();
  operation.sent_data_ns = {};
  operation.taken_data_ns = 85 * kMs;
  EXPECT_EQ(row_of(operation).own_ready_ns.value(), 85 * kMs);
  EXPECT_EQ(row_of(operation).kept_waiting_ns.value(), 25 * kMs);
  operation.taken_data_ns = 60 * kMs + 1'000;  // it had waited for them
  EXPECT_FALSE(row_of(operation).own_ready_ns.known());
  EXPECT_EQ(row_of(operation).peer_ready_ns.value(), 60 * kMs);
}

TEST(NcclRows, ABeatIsOneMomentWhetherItsBeginIsToldOrNot) {
  Operation operation = all_reduce();
  const Collective with_begin = beat_of(row_of(operation));
  operation.sent_data_ns = operation.received_data_ns = {};
  const Collective without_begin = beat_of(row_of(operation));
  EXPECT_EQ(with_begin.start_ns, without_begin.start_ns);
  EXPECT_EQ(with_begin.start_ns, with_begin.end_ns);
  operation.proxies = 0;  // inside the host alone
  operation.proxy_begin_ns = operation.proxy_end_ns = {};
  EXPECT_EQ(beat_of(row_of(operation)).end_ns, 5 * kMs);
  operation.kernel_begin_ns = 6 * kMs;
  operation.kernel_end_ns = 7 * kMs;
  GpuClock clock;
  clock.learn(0, 0);
  EXPECT_EQ(beat_of(row_of(operation, clock)).end_ns, 5 * kMs);
}

TEST(NcclRows, EnqueuedIsNotArrived) {
  Operation operation = all_reduce();
  operation.proxies = 0;
  operation.proxy_begin_ns = operation.proxy_end_ns = {};
  operation.sent_data_ns = operation.received_data_ns = {};
  const Collective row = row_of(operation);
  EXPECT_FALSE(row.own_ready_ns.known());
  EXPECT_FALSE(row.last_data_ns.known());
  EXPECT_EQ(row.start_ns, 5 * kMs);
  EXPECT_EQ(row.end_ns, 5 * kMs);
}

TEST(NcclRows, NoneBeginsBeforeTheOneBeforeItIsOver) {
  Rows rows;
  Operation operation = all_reduce();
  (void)rows.row_of(operation, &kMember, {}, {});
  operation.sent_data_ns = operation.received_data_ns = {};
  operation.proxy_end_ns = 150 * kMs;
  EXPECT_EQ(rows.row_of(operation, &kMember, {}, {}).start_ns, 90 * kMs);
}

TEST(NcclRows, WaitsAreKnownOnlyWhereStepsWereTold) {
  Operation operation = all_reduce();
  operation.steps = 3;
  operation.gpu_ns = 7;
  operation.flush_ns = 2;
  const Collective row = row_of(operation);
  EXPECT_EQ(row.gpu_wait_ns.value(), 7);
  EXPECT_EQ(row.network_wait_ns.value(), 0);
  EXPECT_EQ(row.flush_wait_ns.value(), 2);
}

TEST(NcclRows, AMessageHasOneNumberAtBothEnds) {
  Operation sent{.communicator = 1, .function = Function::Send, .peer = 3};
  Operation received{.communicator = 1, .function = Function::Receive, .peer = 2};
  const Membership other{.hash = kMember.hash, .rank = 3, .ranks = 4, .nodes = 2};
  // The receiver's row of the second one was lost.
  for (const std::uint64_t i : {0U, 2U}) {
    sent.sequence = received.sequence = i;
    const Collective at_sender = Rows().row_of(sent, &kMember, {}, {});
    const Collective at_receiver = Rows().row_of(received, &other, {}, {});
    EXPECT_EQ(at_sender.number, at_receiver.number);
    EXPECT_EQ(at_sender.communicator, at_receiver.communicator);
    EXPECT_EQ(at_sender.number & 0xff, static_cast<std::int64_t>(i));
  }
  const std::int64_t before = Rows().row_of(sent, &kMember, {}, {}).number;
  sent.peer = 1;
  EXPECT_NE(Rows().row_of(sent, &kMember, {}, {}).number, before);
}

TEST(NcclRows, ACommunicatorsNumberFitsAndIsNoneOfGloos) {
  for (const std::uint64_t hash : {std::uint64_t{0}, kMember.hash, ~std::uint64_t{0}}) {
    EXPECT_LT(communicator_number(hash), 1 << 23);
    EXPECT_GE(communicator_number(hash), 1 << 22);
  }
  EXPECT_NE(communicator_number(kMember.hash), communicator_number(kMember.hash + 1));
}

}  // namespace
}  // namespace chokepoint::capture::nccl
