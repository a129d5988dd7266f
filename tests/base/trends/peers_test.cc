#include "base/trends/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace chokepoint::trends {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::vector<PeerValue> peers_of(const std::vector<double>& values) {
  std::vector<PeerValue> peers;
  for (const double value : values) {
    peers.push_back({.value = value});
  }
  return peers;
}

TEST(PeersTest, ThreeCannotSayWhichIsWrong) {
  EXPECT_THAT(unusual_peers({}), IsEmpty());
  EXPECT_THAT(unusual_peers(peers_of({10, 10.01, 30})), IsEmpty());
  EXPECT_THAT(unusual_peers(peers_of({10, 10.01, 30, std::nan("")})), IsEmpty());
}

TEST(PeersTest, SaysWhichAndHowManyTimes) {
  const auto found = unusual_peers(peers_of({10, 10.1, 9.9, 25, 10.05, 9.95, 10.02, 9.98}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].peer, 3U);
  EXPECT_NEAR(*found[0].times, 2.5, 0.01);
  EXPECT_LT(found[0].p, 1e-3);
}

TEST(PeersTest, FourNeedALargeDifference) {
  EXPECT_THAT(unusual_peers(peers_of({10, 10.1, 9.9, 12})), IsEmpty());
  EXPECT_THAT(unusual_peers(peers_of({10, 10.1, 9.9, 30})), SizeIs(1));
}

TEST(PeersTest, SeveralDoNotHideEachOther) {
  std::vector<double> values;
  for (int i = 0; i < 16; ++i) {
    values.push_back(100 + (i * 7 % 16) * 0.1);
  }
  values[3] = 130;
  values[8] = 131;
  values[12] = 60;
  EXPECT_THAT(unusual_peers(peers_of(values)), SizeIs(3));
}

TEST(PeersTest, EqualHostsAreAlike) {
  EXPECT_THAT(unusual_peers(peers_of(std::vector<double>(8, 5))), IsEmpty());
  EXPECT_THAT(unusual_peers(peers_of(std::vector<double>(8, 0))), IsEmpty());
  std::vector<double> rounded(8, 100);
  rounded[2] = 102;
  EXPECT_THAT(unusual_peers(peers_of(rounded)), IsEmpty());
}

TEST(PeersTest, AHostsOwnErrorCounts) {
  auto peers = peers_of({10, 10.1, 9.9, 13, 10.05, 9.95, 10.02, 9.98});
  ASSERT_THAT(unusual_peers(peers), SizeIs(1));
  peers[3].error = 3;
  EXPECT_THAT(unusual_peers(peers), IsEmpty());
}

class AlikeHostsTest : public testing::TestWithParam<std::size_t> {};

// A thousand times so many hosts, normal and with Student's tails: one false alarm is expected at
// p <= 1e-3, and no more than six may be seen.
TEST_P(AlikeHostsTest, RarelyHaveAnUnusualOne) {
  constexpr int kTimes = 1000;
  constexpr int kMost = 6;
  for (const double freedom : {1000.0, 5.0}) {
    std::mt19937_64 bits(7);
    std::student_t_distribution<double> noise(freedom);
    int alarms = 0;
    for (int i = 0; i < kTimes; ++i) {
      std::vector<double> values;
      for (std::size_t host = 0; host < GetParam(); ++host) {
        values.push_back(100 * std::exp(0.02 * noise(bits)));
      }
      alarms += unusual_peers(peers_of(values)).empty() ? 0 : 1;
    }
    EXPECT_LE(alarms, kMost) << freedom;
  }
}

INSTANTIATE_TEST_SUITE_P(Hosts, AlikeHostsTest, testing::Values(4, 5, 7, 8, 16, 64));

}  // namespace
}  // namespace chokepoint::trends
