// What only the fake device shows: faults made on purpose, and counts of what was posted, completed
// and woken.
#include "tests/rdma/verbs/live_fixture.h"

namespace chokepoint::rdma::verbs {
namespace {

class Faults : public LiveTest {
 protected:
  void SetUp() override { use_fabric(); }

  // Writes of 8 bytes each, posted one by one.
  void post_writes(const Ends& ends, const Piece& from, const Piece& to, int queues, int signal) {
    const std::vector<SendRequest> ring(8, to_remote(Operation::Write, from, to, 8));
    for (int queue = 0; queue < queues; ++queue) {
      ASSERT_TRUE(ends.source->lay_out_sends(queue, ring));
      for (std::size_t place = 0; place < ring.size(); ++place) {
        ASSERT_EQ(ends.source->post_sends(queue, place, 1, place % 8 >= 8U - signal), 0);
      }
    }
  }

  std::vector<Completion> poll_all(Endpoint& endpoint) {
    std::vector<Completion> all;
    std::array<Completion, 4> some;
    for (int count = endpoint.poll_sends(some); count > 0; count = endpoint.poll_sends(some)) {
      all.insert(all.end(), some.begin(), some.begin() + count);
    }
    return all;
  }
};

TEST_F(Faults, AFailureHasQueuePlaceStatusAndVendorErrorAndNothingElse) {
  const Piece from = piece(64);
  const Piece to = piece(64);
  EndpointOptions wanted = options();
  wanted.queues = 2;
  const Ends ends = connected_ends(wanted, path());
  fabric_->set_faults(name_, {.failing_message = 8 + 5,
                              .failing_status = fakes::kRemoteAccessError,
                              .vendor_error = 0x51});
  post_writes(ends, from, to, 2, 1);
  const std::vector<Completion> found = poll_all(*ends.source);
  ASSERT_EQ(found.size(), 1U + 3U) << "the first queue's, the failed one, and two flushed";
  EXPECT_EQ(found[0].status, 0);
  EXPECT_EQ(found[0].queue, 0);
  EXPECT_EQ(found[0].place, 7U);
  EXPECT_EQ(found[1].status, fakes::kRemoteAccessError);
  EXPECT_EQ(found[1].queue, 1);
  EXPECT_EQ(found[1].place, 5U) << "also of a request that was not signaled";
  EXPECT_EQ(found[1].vendor_error, 0x51U);
  EXPECT_EQ(found[1].bytes, 0U);
  EXPECT_FALSE(found[1].has_immediate);
  EXPECT_NE(describe(explain(found[1], "peer")).find("(vendor error 0x51)"), std::string::npos);
  EXPECT_EQ(found[2].status, fakes::kFlushed);
  EXPECT_EQ(found[2].place, 6U);
  EXPECT_EQ(found[3].place, 7U);
}

TEST_F(Faults, AShortPollLosesNoCompletion) {
  const Piece from = piece(64);
  const Piece to = piece(64);
  const Ends ends = connected_ends();
  fabric_->set_faults(name_, {.most_per_poll = 1});
  post_writes(ends, from, to, 1, 8);
  const std::vector<Completion> found = poll_all(*ends.source);
  ASSERT_EQ(found.size(), 8U);
  for (std::uint32_t place = 0; place < 8; ++place) {
    EXPECT_EQ(found[place].place, place);
  }
}

TEST_F(Faults, APollThatFailsIsAnErrno) {
  const Piece from = piece(64);
  const Piece to = piece(64);
  const Ends ends = connected_ends();
  post_writes(ends, from, to, 1, 1);
  fabric_->set_faults(name_, {.poll = EINVAL});
  std::array<Completion, 4> some;
  EXPECT_EQ(ends.source->poll_sends(some), -EIO);
}

TEST_F(Faults, OnlyTheLastRequestOfASignaledPostCompletes) {
  const Piece from = piece(64);
  const Piece to = piece(64);
  const Ends ends = connected_ends();
  for (int turn = 0; turn < 2; ++turn) {  // what was signaled before is not any more
    post_writes(ends, from, to, 1, 3);
    ASSERT_EQ(ends.source->post_sends(0, 0, 8, true), 0);
    const std::vector<Completion> found = poll_all(*ends.source);
    ASSERT_EQ(found.size(), 3U + 1U);
    EXPECT_EQ(found[0].place, 5U);
    EXPECT_EQ(found[3].place, 7U);
    ASSERT_EQ(ends.source->post_sends(0, 0, 8, false), 0);
    EXPECT_TRUE(poll_all(*ends.source).empty());
    ASSERT_EQ(ends.source->post_sends(0, 0, 1, true), 0);
    EXPECT_EQ(poll_all(*ends.source).size(), 1U);
  }
}

TEST_F(Faults, OnlyTheReceivesOfAPostArePosted) {
  const Piece to = piece(64);
  const Ends ends = connected_ends();
  const std::vector<LocalMemory> ring(8, to.local(8));
  ASSERT_TRUE(ends.target->lay_out_receives(0, ring));
  ASSERT_EQ(ends.target->post_receives(0, 0, 8), 0);
  EXPECT_EQ(fabric_->traffic(name_).receives_posted, 8U);
  ASSERT_EQ(ends.target->post_receives(0, 0, 2), 0);  // what was linked before is not any more
  EXPECT_EQ(fabric_->traffic(name_).receives_posted, 10U);
}

TEST_F(Faults, AFullQueueRefusesAPostUntilACompletionWasPolled) {
  const Piece from = piece(64);
  const Piece to = piece(64);
  const Ends ends = connected_ends();  // 32 deep
  for (int post = 0; post < 4; ++post) {
    post_writes(ends, from, to, 1, 1);
  }
  EXPECT_EQ(ends.source->post_sends(0, 0, 1, true), ENOMEM);
  EXPECT_EQ(poll_all(*ends.source).size(), 4U);
  EXPECT_EQ(ends.source->post_sends(0, 0, 8, true), 0);
}

TEST_F(Faults, EachWakeIsArmedAnew) {
  const Piece from = piece(64);
  const Piece to = piece(64);
  EndpointOptions wanted = options();
  wanted.events = true;
  const Ends ends = connected_ends(wanted, path());
  for (std::uint64_t turn = 1; turn <= 3; ++turn) {
    post_writes(ends, from, to, 1, 8);
    EXPECT_EQ(fabric_->traffic(name_).wakes, turn) << "one for many completions";
    EXPECT_TRUE(ends.source->wait_sends(net::Deadline::of(std::chrono::seconds(20))));
    EXPECT_EQ(poll_all(*ends.source).size(), 8U);
  }
  EXPECT_FALSE(ends.source->wait_sends(net::Deadline::of(std::chrono::milliseconds(5))));
}

TEST_F(Faults, ARefusalTellsWhatWasRefused) {
  fabric_->set_faults(name_, {.create_queue_pair = EOPNOTSUPP});
  EXPECT_NE(describe(device().open_endpoint(options()).error()).find("the device has no RC"),
            std::string::npos);
  fabric_->set_faults(name_, {});
  const Ends ends = open_ends(options());
  fabric_->set_faults(name_, {.connect = ETIMEDOUT});
  const Result<> connected = ends.source->connect(ends.target->address(), path());
  ASSERT_FALSE(connected);
  EXPECT_NE(describe(connected.error()).find("the peer's GID cannot be reached"),
            std::string::npos);
  EXPECT_NE(ends.source->post_sends(0, 0, 1, true), 0) << "nothing is laid out";
}

TEST_F(Faults, NothingIsLeftOfWhatCouldNotBeOpened) {
  EndpointOptions wanted = options();
  wanted.queues = 3;
  wanted.inline_bytes = 1 << 20;
  EXPECT_FALSE(device().open_endpoint(wanted));
  EXPECT_EQ(fabric_->traffic(name_).queue_pairs, 0);
  EXPECT_EQ(fabric_->traffic(name_).opened, 2) << "tried with none and with 512 bytes inline";
}

}  // namespace
}  // namespace chokepoint::rdma::verbs
