// What goes wrong with the data on its way is found by those who ask for it.
#include "rdma/perf/verifier.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tests/rdma/perf/pair.h"

namespace chokepoint::rdma::perf {
namespace {

using fakes::Outcomes;
using fakes::Pair;
using verbs::Operation;
using verbs::Transport;

Plan checked_plan(Operation operation) {
  return {.operation = operation,
          .message_bytes = 96,
          .queue_pairs = 1,
          .depth = 16,
          .check = true,
          .iterations = 100};
}

std::uint64_t mismatches_of(Pair& pair) {
  const Outcomes outcomes = pair.run();
  EXPECT_TRUE(outcomes.active) << describe(outcomes.active.error());
  EXPECT_TRUE(outcomes.passive) << describe(outcomes.passive.error());
  return outcomes.active && outcomes.passive
             ? outcomes.active->mismatches.value_or(0) + outcomes.passive->mismatches.value_or(0) +
                   outcomes.mismatches
             : 0;
}

auto flip_last_byte_of(std::uint64_t wanted) {
  return [wanted](std::uint64_t message, std::span<std::byte> data) {
    if (message == wanted) {
      data.back() ^= std::byte{1};
    }
  };
}

class CheckedOperation : public testing::TestWithParam<Operation> {};

INSTANTIATE_TEST_SUITE_P(Check, CheckedOperation,
                         testing::Values(Operation::Write, Operation::WriteImmediate,
                                         Operation::Read, Operation::Send));

TEST_P(CheckedOperation, FindsAChangedBit) {
  Pair pair(checked_plan(GetParam()));
  pair.active_faults.spoil = flip_last_byte_of(95);
  EXPECT_EQ(mismatches_of(pair), 1U);
}

TEST_P(CheckedOperation, FindsWhatIsLeftFromBefore) {
  Pair pair(checked_plan(GetParam()));
  std::vector<std::byte> before;
  pair.active_faults.spoil = [&](std::uint64_t message, std::span<std::byte> data) {
    if (message == 93) {
      std::ranges::copy(before, data.begin());
    }
    before.assign(data.begin(), data.end());
  };
  EXPECT_EQ(mismatches_of(pair), 1U);
}

TEST_P(CheckedOperation, FindsPartsThatChangedPlaces) {
  Pair pair(checked_plan(GetParam()));
  pair.active_faults.spoil = [](std::uint64_t message, std::span<std::byte> data) {
    if (message == 99) {
      std::swap_ranges(data.begin(), data.begin() + 8, data.begin() + 8);
    }
  };
  EXPECT_EQ(mismatches_of(pair), 1U);
}

TEST_P(CheckedOperation, FindsAChangedBitInATinyMessage) {
  Plan plan = checked_plan(GetParam());
  plan.message_bytes = 1;
  Pair pair(plan);
  pair.active_faults.spoil = flip_last_byte_of(98);
  EXPECT_EQ(mismatches_of(pair), 1U);
}

TEST_P(CheckedOperation, FindsAChangedBitOnOneOfManyQueuePairs) {
  Plan plan = checked_plan(GetParam());
  plan.queue_pairs = 4;
  plan.moderation = 5;
  plan.warm_up = 3;
  Pair pair(plan);
  pair.active_faults.spoil = flip_last_byte_of(411);
  EXPECT_EQ(mismatches_of(pair), 1U);
}

TEST(Check, AMessageThatWasNotReadAgainIsFound) {
  Plan plan = checked_plan(Operation::Read);
  plan.depth = 1;  // the same place each time
  Pair pair(plan);
  pair.active_faults.spoil = [](std::uint64_t message, std::span<std::byte> data) {
    if (message == 50) {
      std::ranges::fill(data, std::byte{0});
    }
  };
  EXPECT_EQ(mismatches_of(pair), 1U);
}

TEST(Check, ACounterThatSomebodyElseTouchedIsFound) {
  for (const Operation operation : {Operation::FetchAndAdd, Operation::CompareAndSwap}) {
    Pair pair(checked_plan(operation));
    pair.before_run = [&] {
      const std::uint64_t one = 1;
      const auto view = pair.passive->buffer->view();
      for (std::uint64_t offset = 0; offset < view.bytes; offset += sizeof one) {
        ASSERT_TRUE(pair.passive->buffer->write(offset, std::as_bytes(std::span(&one, 1))));
      }
    };
    EXPECT_GT(mismatches_of(pair), 0U);
  }
}

TEST(Check, WithoutItNothingIsLookedAt) {
  Plan plan = checked_plan(Operation::Send);
  plan.check = false;
  Pair pair(plan);
  pair.active_faults.spoil = flip_last_byte_of(42);
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.passive);
  EXPECT_EQ(outcomes.passive->mismatches, std::nullopt);
}

TEST(Check, LossOverUcIsNoMismatchButAChangedBitIs) {
  for (const Operation operation : {Operation::Write, Operation::WriteImmediate, Operation::Send}) {
    Plan plan = checked_plan(operation);
    plan.transport = Transport::Uc;
    Pair lossy(plan);
    lossy.active_faults.lose_every = 9;
    EXPECT_EQ(mismatches_of(lossy), 0U);

    Pair spoilt(plan);
    spoilt.active_faults.lose_every = 9;
    spoilt.active_faults.spoil = flip_last_byte_of(94);
    EXPECT_EQ(mismatches_of(spoilt), 1U);
  }
}

TEST(Check, HoweverManyWereLostTheNextOneIsKnown) {
  for (const Operation operation : {Operation::WriteImmediate, Operation::Send}) {
    Plan plan = checked_plan(operation);
    plan.transport = Transport::Uc;
    Pair pair(plan);
    verbs::Buffer& buffer = *pair.passive->buffer;
    const Layout layout = layout_of(plan);
    Verifier verifier(buffer, plan, layout);
    const std::uint64_t sequence = layout.ring * 12345;  // of place 0
    const Area& area = operation == Operation::Send ? layout.receives : layout.targets;
    const std::span message(buffer.host() + area.at(0, 0), layout.message_bytes);
    write_pattern(message, {.sequence = sequence});
    ASSERT_TRUE(verifier.received({}));
    EXPECT_EQ(verifier.mismatches(), 0U);
    ASSERT_TRUE(verifier.received({}));  // the same again
    EXPECT_EQ(verifier.mismatches(), 1U);
    write_pattern(message, {.sequence = 2 * sequence});
    message[3] ^= std::byte{1};
    ASSERT_TRUE(verifier.received({}));
    EXPECT_EQ(verifier.mismatches(), 2U);
  }
}

TEST(Check, ATestThatEndsInItsWarmUpHasNothingToHoldAgainst) {
  for (const Operation operation : {Operation::Write, Operation::FetchAndAdd}) {
    Plan plan = checked_plan(operation);
    plan.warm_up = 1'000'000'000;
    Pair pair(plan);
    pair.active->monitor.ends_after = 2;
    EXPECT_EQ(mismatches_of(pair), 0U);
  }
}

// Memory of a GPU.
class FarBuffer final : public verbs::Buffer {
 public:
  explicit FarBuffer(verbs::Buffer& near) : near_(near) {}
  verbs::MemoryView view() const override { return near_.view(); }
  std::byte* host() override { return nullptr; }
  Result<> write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return near_.write(offset, bytes);
  }
  Result<> read(std::uint64_t offset, std::span<std::byte> bytes) const override {
    return near_.read(offset, bytes);
  }
  std::string describe() const override { return "far"; }

 private:
  verbs::Buffer& near_;
};

TEST(Check, NothingGoesInlineThatTheProcessorCannotRead) {
  Plan plan = checked_plan(Operation::Write);
  plan.inline_bytes = 96;
  Pair pair(plan);
  FarBuffer far(*pair.active->buffer);
  const auto prepared = [&](Role role) {
    return prepare({.role = role,
                    .endpoint = *pair.active->endpoint,
                    .buffer = far,
                    .region = *pair.active->region,
                    .monitor = pair.active->monitor},
                   plan);
  };
  const auto refused = prepared(Role::Active);
  ASSERT_FALSE(refused);
  EXPECT_EQ(describe(refused.error()),
            "RDMA test: far: the processor cannot read it, and copies what goes inline; leave "
            "--inline out");
  EXPECT_TRUE(prepared(Role::Passive));
  plan.inline_bytes = 95;
  EXPECT_TRUE(prepared(Role::Active));
}

TEST(Check, InlinedMessagesAreCheckedToo) {
  Plan plan = checked_plan(Operation::Write);
  plan.inline_bytes = 96;
  Pair pair(plan);
  EXPECT_EQ(mismatches_of(pair), 0U);
}

TEST(Pattern, TellsItsNumber) {
  std::array<std::byte, 8> one{};
  for (const std::uint64_t sequence : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{9}}) {
    write_pattern(one, {.queue = 5, .sequence = sequence});
    EXPECT_EQ(sequence_of(one, 5), sequence);
    EXPECT_NE(sequence_of(one, 4), sequence);
  }
  EXPECT_EQ(sequence_of(std::span(one).first(7), 5), std::nullopt);
}

TEST(Pattern, IsAnotherForEachNumberAndQueue) {
  std::array<std::byte, 20> one{};
  write_pattern(one, {.queue = 1, .sequence = 7});
  EXPECT_TRUE(holds_pattern(one, {.queue = 1, .sequence = 7}));
  EXPECT_FALSE(holds_pattern(one, {.queue = 1, .sequence = 8}));
  EXPECT_FALSE(holds_pattern(one, {.queue = 0, .sequence = 7}));
  one.back() ^= std::byte{0x80};
  EXPECT_FALSE(holds_pattern(one, {.queue = 1, .sequence = 7}));
}

}  // namespace
}  // namespace chokepoint::rdma::perf
