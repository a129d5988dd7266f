#include "capture/source/live.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <thread>

#include "base/sys/clock.h"
#include "capture/source/tap.h"
#include "tests/capture/source/own_network.h"
#include "tests/capture/source/reading.h"

namespace chokepoint::capture::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Live : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string lacks = lacks_for_own_network(); !lacks.empty()) {
      GTEST_SKIP() << lacks;
    }
  }
};

LiveOptions options(std::vector<std::string> interfaces) {
  return {.interfaces = std::move(interfaces),
          .snapshot_bytes = 64,
          .ring_bytes = std::uint64_t{8} << 20,
          .filter = kTestFilter};
}

std::unique_ptr<LiveSource> opened(const LiveOptions& options) {
  auto source = open_live(options);
  EXPECT_TRUE(source) << describe(source.error());
  return source ? std::move(*source) : nullptr;
}

std::vector<std::uint32_t> numbers(const Reading& reading) {
  std::vector<std::uint32_t> all;
  for (const ReadFrame& frame : reading.frames) {
    all.push_back(
        number_of({reinterpret_cast<const std::uint8_t*>(frame.bytes.data()), frame.bytes.size()}));
  }
  return all;
}

std::vector<std::uint32_t> counted(std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  std::ranges::generate(all, [next = 0U]() mutable { return next++; });
  return all;
}

std::vector<std::string> names(const Source& source) {
  std::vector<std::string> all;
  for (const Interface& interface : source.interfaces()) {
    all.push_back(interface.name);
  }
  return all;
}

TEST_F(Live, WhatIsSentIsWhatIsRead) {
  in_own_network([] {
    const auto source = opened(options({"far"}));
    const std::int64_t before = sys::SystemClock().wall_ns();
    FrameSender("near").send(0, 5000, 1000);
    source->stop();
    const Reading reading = read_all(*source);
    EXPECT_EQ(numbers(reading), counted(5000));
    EXPECT_THAT(reading.error, IsEmpty());
    EXPECT_THAT(reading.drops, IsEmpty());
    const ReadFrame& frame = reading.frames.at(0);
    EXPECT_EQ(frame.bytes.size(), 64u);
    EXPECT_EQ(frame.frame_bytes, 1000u);
    EXPECT_GE(frame.time_ns, before);
    EXPECT_LE(frame.time_ns, sys::SystemClock().wall_ns());
    EXPECT_EQ(source->interfaces().at(0).mtu, 9000u);
  });
}

TEST_F(Live, FramesHaveTheMonotonicClockWhereThatIsAskedFor) {
  in_own_network([] {
    LiveOptions steady = options({"far"});
    steady.time_scale = TimeScale::Monotonic;
    const auto source = opened(steady);
    const std::int64_t before = sys::SystemClock().monotonic_ns();
    FrameSender("near").send(0, 100, 1000);
    source->stop();
    const Reading reading = read_all(*source);
    ASSERT_EQ(numbers(reading), counted(100));
    EXPECT_GE(reading.frames.front().time_ns, before - 100'000);
    EXPECT_LE(reading.frames.back().time_ns, sys::SystemClock().monotonic_ns());
  });
}

TEST_F(Live, AnotherFilterHoldsFromNowOn) {
  in_own_network([] {
    ip("link add here type veth peer name there");
    ip("link set here up");
    ip("link set there up");
    for (const std::vector<std::string>& interfaces :
         {std::vector<std::string>{"far"}, {"far", "there"}}) {
      const auto source = opened(options(interfaces));
      const FrameSender sender("near");
      sender.send(0, 10, 1000);
      ASSERT_TRUE(source->narrow("ether proto 0x1234"));
      sender.send(10, 10, 1000);
      ASSERT_TRUE(source->narrow(kTestFilter));
      sender.send(10, 10, 1000);
      EXPECT_FALSE(source->narrow("nonsense and so on"));
      sender.send(20, 10, 1000);
      source->stop();
      const Reading reading = read_all(*source);
      EXPECT_EQ(numbers(reading), counted(30));
      EXPECT_EQ(reading.frames.back().bytes.size(), 64u);
    }
  });
}

TEST_F(Live, StoppedItEndsThoughTrafficGoesOn) {
  in_own_network([] {
    const auto source = opened(options({"far"}));
    std::jthread traffic([](const std::stop_token& enough) {
      const FrameSender sender("near");
      for (std::uint32_t i = 0; !enough.stop_requested(); ++i) {
        sender.send(i, 1);
      }
    });
    Batch batch;
    while (batch.frames.empty()) {
      ASSERT_TRUE(source->read(batch));
    }
    source->stop();
    EXPECT_THAT(read_all(*source).error, IsEmpty());
  });
}

TEST_F(Live, ATinyRingTellsOfItsDrops) {
  in_own_network([] {
    LiveOptions tiny = options({"far"});
    tiny.ring_bytes = 512 << 10;
    tiny.snapshot_bytes = 9000;
    const auto source = opened(tiny);
    constexpr std::uint32_t kSent = 1000;
    FrameSender("near").send(0, kSent, 8000);
    source->stop();
    const Reading reading = read_all(*source);
    ASSERT_FALSE(reading.drops.empty());
    std::uint64_t dropped = 0;
    for (const Drop& drop : reading.drops) {
      dropped += drop.by_kernel;
    }
    EXPECT_LT(reading.frames.size(), kSent);
    EXPECT_EQ(reading.frames.size() + dropped, kSent);
  });
}

TEST_F(Live, WithoutAFilterTheRingHoldsNoMoreThanTheSnapshot) {
  in_own_network([] {
    // Nobody reads meanwhile, and the kernel hands a block over every few milliseconds, full or
    // not: there have to be enough of them for a slow sender.
    LiveOptions small = options({"far"});
    small.ring_bytes = 12 << 20;
    small.filter.clear();
    const auto source = opened(small);
    FrameSender("near").send(0, 2000, 8000);
    source->stop();
    const Reading reading = read_all(*source);
    EXPECT_THAT(reading.drops, IsEmpty());
    EXPECT_EQ(std::ranges::count(reading.frames, 8000, &ReadFrame::frame_bytes), 2000);
  });
}

TEST_F(Live, TwoEndsOfAWireAreNotCountedTwice) {
  in_own_network([] {
    ip("link set lo up");
    const auto source = opened(options({"any"}));
    EXPECT_THAT(names(*source), ElementsAre("far", "lo"));
    EXPECT_THAT(source->remarks(), ElementsAre("near is left out: it is the other end of far"));
    FrameSender("near").send(0, 2000);
    source->stop();
    EXPECT_EQ(numbers(read_all(*source)), counted(2000));
  });
}

TEST_F(Live, SeveralInterfacesAreMergedByTime) {
  in_own_network([] {
    ip("link add here type veth peer name there");
    ip("link set here up");
    ip("link set there up");
    const auto source = opened(options({"far", "there"}));
    std::jthread traffic([&] {
      const FrameSender one("near");
      const FrameSender other("here");
      for (std::uint32_t i = 0; i < 3000; i += 2) {
        one.send(i, 1);
        other.send(i + 1, 1);
      }
      source->stop();
    });
    const Reading reading = read_all(*source);
    EXPECT_THAT(reading.error, IsEmpty());
    EXPECT_EQ(numbers(reading), counted(3000));
    EXPECT_EQ(reading.frames.at(1).interface, 1u);
  });
}

TEST_F(Live, AnInterfaceThatGoesAwayEndsItAfterAllItsFrames) {
  for (const std::vector<std::string>& interfaces :
       {std::vector<std::string>{"far"}, std::vector<std::string>{"far", "lo"}}) {
    in_own_network([&] {
      ip("link set lo up");
      const auto source = opened(options(interfaces));
      FrameSender("near").send(0, 100);
      ip("link delete far");
      const Reading reading = read_all(*source);
      EXPECT_EQ(numbers(reading), counted(100));
      EXPECT_THAT(reading.error, HasSubstr("listen: far: "));
    });
  }
}

TEST_F(Live, AnotherNamespaceIsEnteredToOpen) {
  in_own_network([] {
    const std::string inside =
        "/proc/" + std::to_string(getpid()) + "/task/" + std::to_string(syscall(SYS_gettid));
    const FrameSender sender("near");
    in_own_network([&] {
      LiveOptions there = options({"far"});
      there.netns = inside + "/ns/net";
      const auto source = opened(there);
      sender.send(0, 10);
      source->stop();
      EXPECT_EQ(numbers(read_all(*source)), counted(10));
    });
  });
}

TEST_F(Live, WhatCannotBeOpenedSaysWhatToDo) {
  in_own_network([] {
    const auto missing = open_live(options({"eth7"}));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(describe(missing.error()),
              "listen: eth7: no such interface; there are far, lo, near");
    ip("link set far down");
    const auto down = open_live(options({"far"}));
    ASSERT_FALSE(down);
    EXPECT_THAT(describe(down.error()),
                HasSubstr("far: the interface is down; ip link set far up"));
    LiveOptions wrong = options({"near"});
    wrong.filter = "tcp and and";
    const auto filter = open_live(wrong);
    ASSERT_FALSE(filter);
    EXPECT_EQ(filter.error().kind, ErrorKind::Usage);
    LiveOptions nowhere = options({"near"});
    nowhere.netns = "/no/such/namespace";
    const auto netns = open_live(nowhere);
    ASSERT_FALSE(netns);
    EXPECT_EQ(netns.error().kind, ErrorKind::NotFound);
  });
}

}  // namespace
}  // namespace chokepoint::capture::source
