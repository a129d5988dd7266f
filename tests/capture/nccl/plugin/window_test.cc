// What NCCL is asked to tell, and when.
#include <gmock/gmock.h>
#include <unistd.h>

#include "capture/nccl/plugin/clocks.h"
#include "tests/capture/nccl/plugin/loaded.h"

namespace chokepoint::capture::nccl::test {
namespace {

namespace event = plugin::event;
using plugin::Window;
using plugin::window_of;
using testing::SizeIs;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr auto kAlways = static_cast<int>(event::kCollective | event::kMessage | event::kProxy);
constexpr auto kCostly = static_cast<int>(event::kStep | event::kKernel);

void expect_window(const char* text, std::uint64_t on, std::uint64_t of) {
  const Window window = window_of(text);
  EXPECT_EQ(window.on_s, on) << (text == nullptr ? "null" : text);
  EXPECT_EQ(window.of_s, of) << (text == nullptr ? "null" : text);
}

TEST(NcclPluginWindow, IsReadFromText) {
  expect_window(nullptr, 1, 8);
  expect_window("2/10", 2, 10);
  expect_window("0", 0, 1);
  expect_window("all", 1, 1);
  expect_window("3600/3600", 3'600, 3'600);
}

TEST(NcclPluginWindow, IsTheUsualOneWhereNobodyCanReadIt) {
  for (const char* each : {"", "x", "1", "1/", "/8", "9/8", "1/0", "1/8 ", "-1/8", "1/99999",
                           "99999999999999999999999/8", "1/8/2", "ALL"}) {
    expect_window(each, 1, 8);
  }
}

TEST(NcclPluginWindow, IsTheSameForAllByTheirClocks) {
  const Window window = {.on_s = 2, .of_s = 8, .first_s = 0};
  EXPECT_TRUE(window.is_on(16 * kSecond, 0));
  EXPECT_TRUE(window.is_on(18 * kSecond - 1, 0));
  EXPECT_FALSE(window.is_on(18 * kSecond, 0));
  EXPECT_FALSE(window.is_on(24 * kSecond - 1, 0));
  EXPECT_EQ(window.left_ns(16 * kSecond), kSecond);
  EXPECT_EQ(window.left_ns(17 * kSecond - 1), 1U);
}

TEST(NcclPluginWindow, BeginsWithAllOfTheFirstSecondsUnlessTold) {
  const Window window = window_of(nullptr);
  EXPECT_TRUE(window.is_on(3 * kSecond, 0));
  EXPECT_TRUE(window.is_on(3 * kSecond, 30 * kSecond - 1));
  EXPECT_FALSE(window.is_on(3 * kSecond, 30 * kSecond));
  EXPECT_TRUE(window.is_on(8 * kSecond, 30 * kSecond));
  for (const char* given : {"0", "1/8"}) {
    EXPECT_FALSE(window_of(given).is_on(3 * kSecond, 0)) << given;
  }
}

TEST(NcclPluginWindow, NeverLeavesTheCostlyEventsOff) {
  Loaded loaded({.window = "0"});
  loaded.join();
  EXPECT_EQ(loaded.mask(), kAlways);
  const auto records = loaded.records(Kind::Window);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0][word::kKernels], 0U);
}

TEST(NcclPluginWindow, AllHasThemOnAndSaysSoOnce) {
  Loaded loaded;
  loaded.join(1);
  loaded.join(2);
  EXPECT_EQ(loaded.mask(), kAlways | kCostly);
  const auto records = loaded.records(Kind::Window);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0][word::kKernels], 1U);
}

TEST(NcclPluginWindow, AnEventAfterTheEdgeSwitches) {
  Loaded loaded({.window = "1/2"});
  void* context = loaded.join();
  const int before = loaded.mask();
  while (loaded.mask() == before) {
    loaded.stop(loaded.start(context, collective(1)));
    usleep(1'000);
  }
  EXPECT_EQ(loaded.mask() ^ before, kCostly);
  const auto records = loaded.records(Kind::Window);
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_NE(records[0][word::kKernels], records[1][word::kKernels]);
  EXPECT_LT(records[0][word::kTime], records[1][word::kTime]);
}

}  // namespace
}  // namespace chokepoint::capture::nccl::test
