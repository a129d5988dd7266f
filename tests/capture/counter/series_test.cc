#include "capture/counter/series.h"

#include "tests/capture/counter/watching.h"

namespace chokepoint::capture::counter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SeriesTest : public Watching {
 protected:
  void see(Counter& counter, std::initializer_list<std::uint64_t> readings) {
    for (const std::uint64_t reading : readings) {
      counter.see(clock_.monotonic_ns(), reading);
      clock_.advance(kSecond);
    }
  }
  std::vector<double> values() const { return counters_.values("n", "s"); }
  std::vector<double> times_ms() const { return counters_.times_ms("n", "s"); }

  const SeriesName name_ = {"n", "s", "/proc", "bytes"};
};

TEST_F(SeriesTest, WhatNeverChangesLeavesNothing) {
  see(sink().counter(name_), {7, 7, 7});
  close();
  EXPECT_THAT(series_, IsEmpty());
  EXPECT_THAT(values(), IsEmpty());
}

TEST_F(SeriesTest, WhatHasToBeKnownBeginsWithTheFirstReading) {
  see(sink().counter(name_, FirstRow::Always), {0, 0});
  close();
  EXPECT_THAT(values(), ElementsAre(0, 0));
  EXPECT_THAT(times_ms(), ElementsAre(0, 1000));
}

TEST_F(SeriesTest, BeforeAChangeAfterAPauseARowSaysUntilWhenNothingChanged) {
  see(sink().counter(name_), {5, 6, 6, 6, 6, 9});
  close();
  EXPECT_THAT(values(), ElementsAre(5, 6, 6, 9));
  EXPECT_THAT(times_ms(), ElementsAre(0, 1000, 4000, 5000));
  EXPECT_EQ(counters_.of("n", "s").back().peak_per_s, 3);
}

TEST_F(SeriesTest, TheLastReadingIsInTheRecord) {
  see(sink().counter(name_), {5, 6, 6, 6});
  close();
  EXPECT_THAT(values(), ElementsAre(5, 6, 6));
  EXPECT_THAT(times_ms(), ElementsAre(0, 1000, 3000));
}

TEST_F(SeriesTest, WhatIsNotWorthARowComesWithTheNextThatIs) {
  Counter& counter = sink().counter(name_, FirstRow::Always);
  see(counter, {0});
  for (const std::uint64_t reading : {1, 2, 3}) {
    counter.see(clock_.monotonic_ns(), reading, false);
    clock_.advance(kSecond);
  }
  see(counter, {50});
  close();
  EXPECT_THAT(values(), ElementsAre(0, 3, 50));
  EXPECT_THAT(times_ms(), ElementsAre(0, 3000, 4000));
}

TEST_F(SeriesTest, NothingIsKeptBackForLongerThanTenSeconds) {
  Counter& counter = sink().counter(name_, FirstRow::Always);
  for (std::uint64_t reading = 0; reading <= 25; ++reading) {
    counter.see(clock_.monotonic_ns(), reading, false);
    clock_.advance(kSecond);
  }
  close();
  EXPECT_THAT(times_ms(), ElementsAre(0, 9000, 10000, 19000, 20000, 25000));
}

TEST_F(SeriesTest, A32BitCounterGoesOnPastItsWidth) {
  see(sink().counter(name_, FirstRow::Always, Wrap::At32Bits), {4'294'967'290, 4, 10});
  close();
  EXPECT_THAT(values(), ElementsAre(4'294'967'290, 4'294'967'300, 4'294'967'306));
}

TEST_F(SeriesTest, WhatBeginsAnewGoesOnWhereItWas) {
  see(sink().counter(name_, FirstRow::Always), {1000, 3, 5});
  close();
  EXPECT_THAT(values(), ElementsAre(1000, 1003, 1005));
}

TEST_F(SeriesTest, ASmallStepBackIsNoNewBeginning) {
  see(sink().counter(name_, FirstRow::Always), {1000, 998, 1001});
  close();
  EXPECT_THAT(values(), ElementsAre(1000, 1000, 1001));
}

TEST_F(SeriesTest, AfterARestartEvenALargeCountIsNew) {
  Counter& counter = sink().counter(name_, FirstRow::Always);
  see(counter, {1000});
  counter.restart();
  see(counter, {998});
  close();
  EXPECT_THAT(values(), ElementsAre(1000, 1998));
}

TEST_F(SeriesTest, ASeriesThatIsAskedForAgainIsTheSame) {
  EXPECT_EQ(&sink().counter(name_), &sink().counter(name_));
  EXPECT_NE(&sink().counter(name_), &sink().counter({"n", "t", "bytes", "/proc"}));
}

TEST_F(SeriesTest, ALevelHoldsUntilItChangesByMoreThanItsTolerance) {
  Level& level = sink().level(name_, 10);
  for (const double value : {100, 105, 110, 111, 111, 90}) {
    level.see(clock_.monotonic_ns(), value);
    clock_.advance(kSecond);
  }
  close();
  EXPECT_THAT(gauges_.values("n", "s"), ElementsAre(100, 111, 90));
}

TEST_F(SeriesTest, SharesFollowEachOtherWithoutAGap) {
  Share& share = sink().share(name_, 5);
  std::int64_t from_ns = clock_.monotonic_ns();
  for (const double value : {10, 12, 8, 90, 91, 10}) {
    clock_.advance(kSecond);
    share.see(clock_.monotonic_ns(), kSecond, value);
  }
  close();
  EXPECT_THAT(gauges_.values("n", "s"), ElementsAre(10, 90.5, 10));
  for (const record::GaugeSample& row : gauges_.of("n", "s")) {
    EXPECT_EQ(row.t_ns - row.bin_ns, from_ns);
    from_ns = row.t_ns;
  }
  EXPECT_EQ(gauges_.of("n", "s").front().peak, 12);
  EXPECT_EQ(gauges_.of("n", "s").front().merged, 3);
}

TEST_F(SeriesTest, ARemarkIsToldOnce) {
  sink().remark("no GPU");
  sink().remark("no GPU");
  EXPECT_THAT(sink().remarks(), ElementsAre("no GPU"));
  close();
}

}  // namespace
}  // namespace chokepoint::capture::counter
