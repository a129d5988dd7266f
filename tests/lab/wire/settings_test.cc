#include "tests/lab/wire/settings.h"

#include <gtest/gtest.h>

namespace chokepoint::lab {
namespace {

using namespace std::chrono_literals;

DirectionSettings of(std::initializer_list<std::string_view> words) {
  DirectionSettings settings;
  for (const auto word : words) {
    const auto applied = apply_word(settings, word);
    EXPECT_TRUE(applied) << describe(applied.error());
  }
  return settings;
}

TEST(WireSettings, AreWords) {
  const auto settings = of({"rate=100M", "delay=7.5ms", "loss=0.0001", "queue=256K"});
  EXPECT_EQ(settings.bits_per_second, 1e8);
  EXPECT_EQ(settings.delay, 7500us);
  EXPECT_EQ(settings.loss, 0.0001);
  EXPECT_EQ(settings.queue_limit_bytes(), 262'144U);
  const auto unsteady = of({"jitter=2ms", "run=5", "late=0.01", "bucket=64K"});
  EXPECT_EQ(unsteady.jitter, 2ms);
  EXPECT_EQ(unsteady.loss_run, 5);
  EXPECT_EQ(unsteady.late, 0.01);
  EXPECT_EQ(unsteady.bucket_bytes, 65'536U);
}

TEST(WireSettings, RefusesWhatItDoesNotUnderstand) {
  for (const auto* word :
       {"speed=1G", "rate=fast", "delay", "loss=2", "loss=-1", "loss=0.1x", "", "run=0", "late=2",
        "bucket=x", "drop=0", "drop=1;2", "duplicate=x", "reorder=5", "reorder=5:0"}) {
    DirectionSettings settings;
    EXPECT_FALSE(apply_word(settings, word)) << word;
  }
}

TEST(WireSettings, OrdersAreNumbersOfFrames) {
  const auto orders = of({"drop=17,18", "duplicate=3", "reorder=5:3,9:1"}).orders;
  EXPECT_EQ(orders.drop, (std::vector<std::uint64_t>{17, 18}));
  EXPECT_EQ(orders.duplicate, std::vector<std::uint64_t>{3});
  EXPECT_EQ(orders.reorder,
            (std::vector<HoldBack>{{.number = 5, .behind = 3}, {.number = 9, .behind = 1}}));
  EXPECT_TRUE(of({"drop=17", "drop="}).orders.empty());
}

TEST(WireSettings, QueueIsFiftyMillisecondsUnlessAskedOtherwise) {
  EXPECT_EQ(of({"rate=1G"}).queue_limit_bytes(), 6'250'000U);
  EXPECT_EQ(of({"rate=1M"}).queue_limit_bytes(), 65'536U);
  EXPECT_GT(of({}).queue_limit_bytes(), 1ULL << 60U);
}

TEST(WireSettings, SuperFramesWhereTheyLookLikeTheirSegments) {
  EXPECT_TRUE(allows_super_frames(of({})));
  EXPECT_TRUE(allows_super_frames(of({"rate=10G", "delay=7.5ms"})));
  EXPECT_FALSE(allows_super_frames(of({"loss=0.000001"})));
  EXPECT_FALSE(allows_super_frames(of({"rate=100M"})));
  EXPECT_FALSE(allows_super_frames(of({"drop=1"})));
  EXPECT_FALSE(allows_super_frames(of({"late=0.001"})));
  EXPECT_FALSE(allows_super_frames(of({"rate=1G", "bucket=1M"})));
  EXPECT_FALSE(allows_super_frames(of({"rate=10G", "queue=100K"})));
}

}  // namespace
}  // namespace chokepoint::lab
