// Who came last to a meeting of connections: lateness.cc without a library's messages.
#include <gtest/gtest.h>

#include "analysis/phases/lateness.h"
#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kAnnouncement = 192;
constexpr std::int64_t kData = 1'000'000;

// Two nodes that exchange once in each of ten steps of 200 ms, as bins of 10 ms have it.
class Rendezvous : public testing::Test {
 protected:
  Rendezvous() : flow_(run_.connect(0, 1)) {}

  void sends(std::size_t node, double ms, std::int64_t bytes) {
    run_.flow(node, flow_)
        .packets.at(node)
        .push_back({.t_ns = ms_ns(ms) + kBinNs, .bin_ns = kBinNs, .payload_bytes = bytes});
  }
  void reads(std::size_t node, double ms, std::int64_t sent) {
    run_.flow(node, flow_).sockets.at(node).push_back({.t_ns = ms_ns(ms), .bytes_sent = sent});
  }
  // Each says that it has come, and data follow the last one.
  void exchange(double first_ms, double second_ms) {
    sends(0, first_ms, kAnnouncement);
    sends(1, second_ms, kAnnouncement);
    for (double ms = std::max(first_ms, second_ms) + 10; ms < 190; ms += 10) {
      sends(0, ms, kData);
      sends(1, ms, kData);
    }
  }
  std::vector<Late> late() const { return late_by_first_bytes(run_.data, run_.clocks, steps_); }

  static constexpr std::int64_t kBinNs = 10'000'000;
  TimelineRun run_{2};
  std::int64_t flow_ = 0;
  Spans steps_ = steps_ms(10, 300);
};

TEST_F(Rendezvous, NamesTheOneThatTheOthersWaitedFor) {
  exchange(20, 120);
  const auto found = late();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].node, 1U);
  EXPECT_DOUBLE_EQ(found[0].lost_ns, 100e6);
}

TEST_F(Rendezvous, TellsRoundsApartByTheQuietBetweenThem) {
  exchange(20, 120);
  sends(1, 220, kAnnouncement);
  sends(0, 290, kAnnouncement);
  sends(0, 300, kData);
  const auto found = late();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].node, 0U);
  EXPECT_DOUBLE_EQ(found[1].lost_ns, 70e6);
}

TEST_F(Rendezvous, NamesNobodyWhereAllComeTogether) {
  exchange(100, 120);  // within what bins may be off
  EXPECT_TRUE(late().empty());
}

//   stage 0   F F F ▓▓▓▓
//   stage 1           F F F ▓▓▓▓      waits for data, not for the other to have come
TEST_F(Rendezvous, NamesNobodyWhereDataMoveBeforeAllHaveCome) {
  sends(0, 20, kAnnouncement);
  for (double ms = 30; ms < 190; ms += 10) {
    sends(0, ms, kData);
  }
  sends(1, 150, kAnnouncement);
  EXPECT_TRUE(late().empty());
}

TEST_F(Rendezvous, GoesByTheSocketsWhereNoPacketWasSeen) {
  for (int reading = 0; reading <= 10; ++reading) {
    const double ms = reading * 20;
    reads(0, ms, ms < 40 ? 0 : ms < 180 ? kAnnouncement : kData);
    reads(1, ms, ms < 160 ? 0 : ms < 180 ? kAnnouncement : kData);
  }
  const auto found = late();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].node, 1U);
  EXPECT_DOUBLE_EQ(found[0].lost_ns, 120e6);
}

TEST_F(Rendezvous, NamesNobodyOutsideTheStepsOrOfNothing) {
  EXPECT_TRUE(late().empty());
  exchange(20, 120);
  steps_ = steps_ms(2, 100, 500);
  EXPECT_TRUE(late().empty());
}

}  // namespace
}  // namespace chokepoint::analysis
