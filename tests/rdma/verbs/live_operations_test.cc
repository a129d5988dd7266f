// Every operation over every transport that carries it: what was sent is what arrives.
#include <cstring>

#include "tests/rdma/verbs/live_fixture.h"

namespace chokepoint::rdma::verbs {
namespace {

constexpr std::uint32_t kBytes = 10'000;  // several packets

using LiveOperations = LiveTest;

void lay_out_one_receive(Endpoint& endpoint, const LocalMemory& memory) {
  ASSERT_TRUE(endpoint.lay_out_receives(0, std::span(&memory, 1)));
  ASSERT_EQ(endpoint.post_receives(0, 0, 1), 0);
}

TEST_F(LiveOperations, AWriteArrives) {
  for (const Transport transport : {Transport::Rc, Transport::Uc}) {
    Piece from = piece(kBytes);
    Piece to = piece(kBytes);
    from.fill(std::byte{0x5a});
    const Ends ends = connected_ends(transport);
    const Completion done = complete(*ends.source, to_remote(Operation::Write, from, to, kBytes));
    EXPECT_EQ(done.status, 0) << describe(explain(done, "loopback"));
    // UC tells when it has left, not when it is there.
    const auto* last = const_cast<volatile std::byte*>(&to.bytes.back());
    for (int turn = 0; *last != std::byte{0x5a} && turn < 100'000'000; ++turn) {
    }
    EXPECT_EQ(to.bytes, from.bytes) << name_of(transport);
  }
}

TEST_F(LiveOperations, AReadFetches) {
  Piece here = piece(kBytes);
  Piece there = piece(kBytes);
  there.fill(std::byte{0x33});
  const Ends ends = connected_ends();
  const Completion done = complete(*ends.source, to_remote(Operation::Read, here, there, kBytes));
  EXPECT_EQ(done.status, 0) << describe(explain(done, "loopback"));
  EXPECT_EQ(here.bytes, there.bytes);
}

TEST_F(LiveOperations, AMessageArrivesInItsPlace) {
  for (const Transport transport : {Transport::Rc, Transport::Uc}) {
    Piece from = piece(kBytes);
    Piece to = piece(std::size_t{2} * kBytes);
    from.fill(std::byte{0x21});
    const Ends ends = connected_ends(transport);
    const std::array<LocalMemory, 2> ring{to.local(kBytes), to.local(kBytes, kBytes)};
    ASSERT_TRUE(ends.target->lay_out_receives(0, ring));
    ASSERT_EQ(ends.target->post_receives(0, 1, 1), 0);
    complete(*ends.source, {.operation = Operation::Send, .local = from.local(kBytes)});
    const Completion came = next_receive(*ends.target);
    EXPECT_EQ(came.status, 0);
    EXPECT_EQ(came.place, 1U);
    EXPECT_EQ(came.bytes, kBytes);
    EXPECT_FALSE(came.has_immediate);
    EXPECT_EQ(std::memcmp(&to.bytes[kBytes], from.bytes.data(), kBytes), 0);
    EXPECT_EQ(to.bytes[0], std::byte{0});
  }
}

TEST_F(LiveOperations, AWriteWithImmediateTellsItsNumber) {
  for (const Transport transport : {Transport::Rc, Transport::Uc}) {
    Piece from = piece(kBytes);
    Piece to = piece(kBytes);
    from.fill(std::byte{0x77});
    const Ends ends = connected_ends(transport);
    lay_out_one_receive(*ends.target, to.local(0));
    SendRequest request = to_remote(Operation::WriteImmediate, from, to, kBytes);
    request.immediate = 0x01020304;
    complete(*ends.source, request);
    const Completion came = next_receive(*ends.target);
    EXPECT_EQ(came.status, 0);
    EXPECT_TRUE(came.has_immediate);
    EXPECT_EQ(came.immediate, 0x01020304U);
    EXPECT_EQ(came.bytes, kBytes);
    EXPECT_EQ(to.bytes, from.bytes);
  }
}

TEST_F(LiveOperations, ADatagramArrivesBehindItsHeader) {
  Piece from = piece(1000);
  Piece to = piece(1000 + kDatagramHeader);
  from.fill(std::byte{0x44});
  const Ends ends = connected_ends(Transport::Ud);
  lay_out_one_receive(*ends.target, to.local(1000 + kDatagramHeader));
  const Completion sent =
      complete(*ends.source, {.operation = Operation::Send, .local = from.local(1000)});
  EXPECT_EQ(sent.status, 0);
  const Completion came = next_receive(*ends.target);
  EXPECT_EQ(came.status, 0);
  EXPECT_EQ(came.bytes, 1000 + kDatagramHeader);
  EXPECT_EQ(std::memcmp(&to.bytes[kDatagramHeader], from.bytes.data(), 1000), 0);
}

TEST_F(LiveOperations, AtomicsCount) {
  if (!device().limits().atomics) {
    GTEST_SKIP() << name_ << " has no atomics";
  }
  Piece before = piece(8);
  Piece counter = piece(8);
  const auto number_in = [](const Piece& memory) {
    std::uint64_t number = 0;
    std::memcpy(&number, memory.bytes.data(), sizeof(number));
    return number;
  };
  const Ends ends = connected_ends();
  SendRequest add = to_remote(Operation::FetchAndAdd, before, counter, 8);
  add.compare_or_add = 7;
  for (const std::uint64_t expected : {0U, 7U, 14U}) {
    EXPECT_EQ(complete(*ends.source, add).status, 0);
    EXPECT_EQ(number_in(before), expected);
  }
  SendRequest swap = to_remote(Operation::CompareAndSwap, before, counter, 8);
  swap.compare_or_add = 21;
  swap.swap = 100;
  EXPECT_EQ(complete(*ends.source, swap).status, 0);
  EXPECT_EQ(number_in(counter), 100U);
  EXPECT_EQ(complete(*ends.source, swap).status, 0);
  EXPECT_EQ(number_in(before), 100U);
  EXPECT_EQ(number_in(counter), 100U);
}

TEST_F(LiveOperations, ACompletionNamesQueueAndPlaceInOrder) {
  Piece from = piece(64);
  Piece to = piece(64);
  EndpointOptions wanted = options();
  wanted.queues = 3;
  const Ends ends = connected_ends(wanted, path());
  const std::vector<SendRequest> ring(8, to_remote(Operation::Write, from, to, 64));
  for (int queue = 0; queue < 3; ++queue) {
    ASSERT_TRUE(ends.source->lay_out_sends(queue, ring));
    for (std::size_t place = 0; place < ring.size(); ++place) {
      ASSERT_EQ(ends.source->post_sends(queue, place, 1, true), 0);
    }
    for (std::uint32_t place = 0; place < ring.size(); ++place) {
      const Completion done = next_send(*ends.source);
      EXPECT_EQ(done.status, 0);
      EXPECT_EQ(done.queue, queue);
      EXPECT_EQ(done.place, place);
    }
  }
}

TEST_F(LiveOperations, AListCompletesOnceAloudAndEveryRequestOfItWasSent) {
  Piece from = piece(64);
  Piece to = piece(64);
  from.fill(std::byte{9});
  const Ends ends = connected_ends();
  std::vector<SendRequest> ring;
  for (std::uint32_t place = 0; place < 8; ++place) {
    ring.push_back(to_remote(Operation::Write, from, to, 8));
    ring.back().remote_address += std::uint64_t{place} * 8;
  }
  ASSERT_TRUE(ends.source->lay_out_sends(0, ring));
  ASSERT_EQ(ends.source->post_sends(0, 0, 6, true), 0);
  EXPECT_EQ(next_send(*ends.source).place, 5U);
  EXPECT_EQ(to.bytes[47], std::byte{9});
  EXPECT_EQ(to.bytes[48], std::byte{0});
  // What was linked and loud before is neither any more.
  ASSERT_EQ(ends.source->post_sends(0, 5, 1, false), 0);
  ASSERT_EQ(ends.source->post_sends(0, 6, 2, true), 0);
  EXPECT_EQ(next_send(*ends.source).place, 7U);
  std::array<Completion, 4> more;
  EXPECT_EQ(ends.source->poll_sends(more), 0);
}

TEST_F(LiveOperations, AnInlineMessageIsTakenWhenItIsPosted) {
  Piece from = piece(64);
  Piece to = piece(64);
  from.fill(std::byte{1});
  EndpointOptions wanted = options();
  wanted.inline_bytes = 64;
  const Ends ends = connected_ends(wanted, path());
  SendRequest request = to_remote(Operation::Write, from, to, 64);
  request.inlined = true;
  request.local.key = 0;  // inline needs none
  ASSERT_TRUE(ends.source->lay_out_sends(0, std::span(&request, 1)));
  ASSERT_EQ(ends.source->post_sends(0, 0, 1, true), 0);
  from.fill(std::byte{2});
  EXPECT_EQ(next_send(*ends.source).status, 0);
  EXPECT_EQ(to.bytes, std::vector<std::byte>(64, std::byte{1}));
}

TEST_F(LiveOperations, AMessageOfNoLengthArrives) {
  Piece to = piece(64);
  const Ends ends = connected_ends();
  lay_out_one_receive(*ends.target, to.local(64));
  EXPECT_EQ(complete(*ends.source, {.operation = Operation::Send}).status, 0);
  EXPECT_EQ(next_receive(*ends.target).bytes, 0U);
}

TEST_F(LiveOperations, APlaceOutsideOfItsRingIsNotPosted) {
  Piece memory = piece(64);
  const Ends ends = connected_ends();
  const std::vector<SendRequest> ring(4, to_remote(Operation::Write, memory, memory, 64));
  ASSERT_TRUE(ends.source->lay_out_sends(0, ring));
  EXPECT_EQ(ends.source->post_sends(0, 3, 2, true), EINVAL);
  EXPECT_EQ(ends.source->post_receives(0, 0, 1), EINVAL);
}

}  // namespace
}  // namespace chokepoint::rdma::verbs
