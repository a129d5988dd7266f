#include "capture/nccl/plugin/message_counts.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace chokepoint::capture::nccl::test {
namespace {

using plugin::MessageCounts;

TEST(NcclPluginMessageCounts, CountEachPeerAndDirectionForItself) {
  const auto counts = std::make_unique<MessageCounts>();
  EXPECT_EQ(counts->next(1, 3, false), 0U);
  EXPECT_EQ(counts->next(1, 3, false), 1U);
  EXPECT_EQ(counts->next(1, 3, true), 0U);
  EXPECT_EQ(counts->next(1, 4, false), 0U);
  EXPECT_EQ(counts->next(2, 3, false), 0U);
  EXPECT_EQ(counts->next(1, -1, false), 0U);
  EXPECT_EQ(counts->next(1, 3, false), 2U);
}

TEST(NcclPluginMessageCounts, AFullTableKnowsNoNumberButKeepsThoseItHas) {
  const auto counts = std::make_unique<MessageCounts>();
  std::size_t unknown = 0;
  for (int peer = 0; peer < 2 * static_cast<int>(MessageCounts::kPlaces); ++peer) {
    unknown += counts->next(1, peer, false) == kNone ? 1 : 0;
  }
  EXPECT_GE(unknown, MessageCounts::kPlaces);
  EXPECT_EQ(counts->next(1, 0, false), 1U);
}

// Nobody gets another's number, and none is left out.
TEST(NcclPluginMessageCounts, ThreadsCountTogether) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2'000;
  constexpr int kPeers = 16;
  const auto counts = std::make_unique<MessageCounts>();
  std::vector<std::set<std::uint64_t>> seen(kThreads * kPeers);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int each = 0; each < kEach; ++each) {
        const int peer = each % kPeers;
        seen[static_cast<std::size_t>(thread * kPeers + peer)].insert(counts->next(9, peer, true));
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  for (std::size_t peer = 0; peer < kPeers; ++peer) {
    std::set<std::uint64_t> all;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      all.merge(seen[thread * kPeers + peer]);
    }
    EXPECT_EQ(all.size(), kThreads * kEach / kPeers);
    EXPECT_EQ(*all.rbegin(), kThreads * kEach / kPeers - 1);
  }
}

}  // namespace
}  // namespace chokepoint::capture::nccl::test
