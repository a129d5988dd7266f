// Many threads of a job, and a reader that looks on.
#include <gmock/gmock.h>

#include <atomic>
#include <latch>
#include <random>
#include <ranges>
#include <set>
#include <thread>

#include "tests/capture/nccl/plugin/loaded.h"

namespace chokepoint::capture::nccl::test {
namespace {

using testing::SizeIs;

constexpr int kEach = 200;

void work(const Loaded& loaded, void* context, std::uint64_t first) {
  for (std::uint64_t each = 0; each < kEach; ++each) {
    void* whole = loaded.start(context, collective(first + each));
    loaded.stop(whole);
    void* part = loaded.start(context, proxy(whole, 1, true));
    void* one = loaded.start(context, step(part));
    loaded.state(one, State::SendGpuWait);
    loaded.state(one, State::SendWait, 10);
    loaded.stop(one);
    loaded.stop(part);
  }
}

TEST(NcclPluginThreads, EachHasItsRing) {
  Loaded loaded;
  void* context = loaded.join();
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t each = 0; each < 8; ++each) {
      threads.emplace_back([&loaded, context, each] { work(loaded, context, each * kEach); });
    }
  }
  std::set<std::uint64_t> sequences;
  std::set<std::uint64_t> ids;
  for (const Words& each : loaded.records(Kind::Collective)) {
    sequences.insert(each[word::kSequence]);
    ids.insert(each[word::kId]);
  }
  EXPECT_THAT(sequences, SizeIs(8 * kEach));
  EXPECT_THAT(ids, SizeIs(8 * kEach));
  for (const Words& each : loaded.records(Kind::Proxy)) {
    EXPECT_TRUE(ids.contains(each[word::kId]));
    EXPECT_EQ(each[word::kSteps], 1U);
    EXPECT_EQ(each[word::kTransferred], 10U);
  }
  EXPECT_THAT(loaded.records(Kind::Proxy), SizeIs(8 * kEach));
  EXPECT_EQ(loaded.file()->header.unkept.load(), 0U);
  EXPECT_EQ(loaded.file()->header.refused.load(), 0U);
}

TEST(NcclPluginThreads, TheOnesThatHaveNoRoomAreCounted) {
  Loaded loaded;
  void* context = loaded.join();
  std::latch all(100);
  {
    std::vector<std::jthread> threads;
    for (int each = 0; each < 100; ++each) {
      threads.emplace_back([&] {
        loaded.stop(loaded.start(context, collective(1)));
        all.arrive_and_wait();
      });
    }
  }
  EXPECT_THAT(loaded.records(Kind::Collective), SizeIs(kRings - 1));
  EXPECT_EQ(loaded.file()->header.unkept.load(), 100 - (kRings - 1));
}

TEST(NcclPluginThreads, ARingIsFreeOnceItsThreadHasEnded) {
  Loaded loaded;
  void* context = loaded.join();
  for (std::uint64_t each = 0; each < 200; ++each) {
    std::jthread([&] { loaded.stop(loaded.start(context, collective(each))); }).join();
  }
  EXPECT_THAT(loaded.records(Kind::Collective), SizeIs(200));
  EXPECT_EQ(loaded.file()->header.unkept.load(), 0U);
  EXPECT_NE(loaded.file()->rings[0].thread.load(), 0U);
  EXPECT_EQ(loaded.file()->rings[1].thread.load(), 0U);
}

// NCCL closes the plugin after the last communicator; its threads may end later.
TEST(NcclPluginThreads, AThreadMayEndAfterThePluginWasClosed) {
  std::latch is_closed(1);
  std::latch has_begun(1);
  std::jthread thread;
  {
    Loaded loaded;
    void* context = loaded.join();
    thread = std::jthread([&loaded, &is_closed, &has_begun, context] {
      loaded.start(context, collective(1));
      has_begun.count_down();
      is_closed.wait();
    });
    has_begun.wait();
    loaded.leave(context);
  }
  is_closed.count_down();
  thread.join();
}

TEST(NcclPluginThreads, AnyThreadMayEndWhatAnotherBegan) {
  Loaded loaded;
  void* context = loaded.join();
  std::vector<void*> handles;
  for (int each = 0; each < 1'000; ++each) {
    handles.push_back(loaded.start(context, proxy(nullptr, 0, true)));
  }
  {
    std::vector<std::jthread> threads;
    for (int each = 0; each < 4; ++each) {
      threads.emplace_back([&] {
        for (void* handle : handles) {
          loaded.stop(handle);
        }
      });
    }
  }
  EXPECT_THAT(loaded.records(Kind::Proxy), SizeIs(1'000));
  EXPECT_EQ(loaded.file()->header.refused.load(), 3'000U);
}

// A record that is whole says the same in all its words.
TEST(NcclPluginThreads, WhoeverLooksOnSeesWholeRecordsOnly) {
  Loaded loaded;
  void* context = loaded.join();
  loaded.start(context, collective(0));
  const Ring& ring = loaded.file()->rings[0];
  std::atomic<bool> is_over = false;
  std::jthread writer([&] {
    for (std::uint64_t each = 1; each < 100'000; ++each) {
      Descriptor descriptor = collective(each);
      descriptor.collective.count = each;
      descriptor.collective.channels = static_cast<std::uint8_t>(each);
      loaded.stop(loaded.start(context, descriptor));
    }
    is_over = true;
  });
  std::size_t seen = 0;
  while (!is_over) {
    for (const Ring& each : loaded.file()->rings | std::views::take(2)) {
      const std::uint64_t written = each.written.load(std::memory_order_acquire);
      const std::uint64_t number = written > kSlots ? written - kSlots : 0;
      const std::optional<Words> record = read(each, number);
      if (record && kind_of(*record) == Kind::Collective && (*record)[word::kSequence] != 0) {
        ++seen;
        ASSERT_EQ((*record)[word::kBytes], 2 * (*record)[word::kSequence]);
        ASSERT_EQ((*record)[word::kChannels], (*record)[word::kSequence] & 0xff);
      }
    }
  }
  EXPECT_GT(ring.written.load(), 0U);
  EXPECT_GT(seen, 0U);
}

// Communicators come and go while others work, with handles of all of them everywhere.
TEST(NcclPluginThreads, NothingTheyDoToEachOtherHurts) {
  Loaded loaded;
  std::array<std::atomic<void*>, 64> shared = {};
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      threads.emplace_back([&loaded, &shared, seed] {
        std::mt19937_64 random(seed);
        std::atomic<int> mask = 0;
        const auto any = [&] { return shared[random() % shared.size()].load(); };
        for (int each = 0; each < 20'000; ++each) {
          std::atomic<void*>& place = shared[random() % shared.size()];
          void* context = nullptr;
          switch (random() % 8) {
            case 0:
              loaded.five().init(&context, 1, reinterpret_cast<int*>(&mask), nullptr, 1, 1, 0,
                                 nullptr);
              place = context;
              break;
            case 1:
              loaded.leave(any());
              break;
            case 2:
              loaded.stop(any());
              break;
            case 3:
              loaded.state(any(), State::SendWait, 1);
              break;
            case 4:
              place = loaded.start(any(), kernel(any(), 1));
              break;
            case 5:
              place = loaded.start(any(), step(any()));
              break;
            case 6:
              place = loaded.start(any(), proxy(any(), 1, true));
              break;
            default:
              place = loaded.start(any(), collective(1));
              break;
          }
        }
      });
    }
  }
  ASSERT_NE(loaded.file(), nullptr);
  EXPECT_GT(loaded.file()->header.refused.load(), 0U);
}

}  // namespace
}  // namespace chokepoint::capture::nccl::test
