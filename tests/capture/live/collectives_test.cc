#include "capture/live/collectives.h"

#include <gmock/gmock.h>

#include <limits>

namespace chokepoint::capture::live {
namespace {

using record::CollectiveKind;
using record::CollectiveSource;
using testing::DoubleEq;
using testing::SizeIs;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecondNs = 1'000 * kMs;

// Of one second from `start_ns`.
record::Collective row(CollectiveSource source, std::int64_t rank, std::int64_t communicator,
                       std::int64_t start_ns = kSecondNs) {
  record::Collective made{.start_ns = start_ns,
                          .end_ns = start_ns + kSecondNs,
                          .number = 1,
                          .kind = CollectiveKind::AllReduce,
                          .source = source};
  made.rank = rank;
  made.communicator = communicator;
  made.bytes = 1000;
  return made;
}

TEST(CollectiveTotals, AreByLibraryKindAndCommunicator) {
  CollectiveTotals totals;
  totals.take(row(CollectiveSource::Gloo, 0, 7));
  totals.take(row(CollectiveSource::Gloo, 1, 7));
  totals.take(row(CollectiveSource::Nccl, 0, 7));
  record::Collective other = row(CollectiveSource::Gloo, 0, 7);
  other.kind = CollectiveKind::Barrier;
  other.communicator = {};
  other.bytes = {};
  totals.take(other);
  const auto found = totals.figures().collectives;
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[0].communicator, "7");
  EXPECT_EQ(found[0].count, 2U);
  EXPECT_EQ(found[0].bytes, 2000);
  EXPECT_EQ(found[0].timed, 2U);
  EXPECT_THAT(found[0].seconds, DoubleEq(2));
  EXPECT_EQ(found[1].communicator, "unknown");
  EXPECT_EQ(found[1].kind, CollectiveKind::Barrier);
  EXPECT_EQ(found[1].bytes, 0);
  EXPECT_EQ(found[2].library, CollectiveSource::Nccl);
}

TEST(CollectiveTotals, OfNcclAreTimedOnlyIfTheirBeginIsKnown) {
  CollectiveTotals totals;
  record::Collective known = row(CollectiveSource::Nccl, 0, 7);
  known.own_ready_ns = known.start_ns;
  totals.take(known);
  totals.take(row(CollectiveSource::Nccl, 0, 7));
  const CollectiveTotal total = totals.figures().collectives.at(0);
  EXPECT_EQ(total.count, 2U);
  EXPECT_EQ(total.timed, 1U);
  EXPECT_THAT(total.seconds, DoubleEq(1));
}

TEST(CollectiveTotals, SayWhoWaitedForWhom) {
  CollectiveTotals totals;
  record::Collective late = row(CollectiveSource::Gloo, 3, 0);
  late.waited_ns = 0;
  late.kept_waiting_ns = 200 * kMs;
  totals.take(late);
  record::Collective early = row(CollectiveSource::Gloo, 2, 0);
  early.waited_ns = 300 * kMs;
  early.kept_waiting_ns = 0;
  totals.take(early);
  totals.take(row(CollectiveSource::Gloo, 2, 0));
  const auto ranks = totals.figures().ranks;
  ASSERT_THAT(ranks, SizeIs(2));
  EXPECT_EQ(ranks[0].rank, "2");
  EXPECT_EQ(ranks[0].count, 2U);
  EXPECT_EQ(ranks[0].measured, 1U);
  EXPECT_THAT(ranks[0].waited_s, DoubleEq(0.3));
  EXPECT_THAT(ranks[1].kept_waiting_s, DoubleEq(0.2));
}

record::Collective ready(std::int64_t rank, std::int64_t number, std::int64_t ready_ns) {
  record::Collective made = row(CollectiveSource::Nccl, rank, 7, ready_ns);
  made.number = number;
  made.own_ready_ns = ready_ns;
  return made;
}

TEST(CollectiveTotals, CompareTheRanksOfThisNode) {
  CollectiveTotals totals;
  totals.take(ready(0, 1, kSecondNs));
  totals.take(ready(1, 1, kSecondNs + 50 * kMs));
  totals.take(ready(0, 2, 2 * kSecondNs));  // the other rank's has not come yet
  EXPECT_EQ(totals.figures().ranks[1].compared, 0U);
  totals.take(ready(1, 2, 2 * kSecondNs - 10 * kMs));
  totals.take(ready(0, 3, 20 * kSecondNs));
  for (int repeated = 0; repeated < 2; ++repeated) {
    const auto ranks = totals.figures().ranks;
    EXPECT_EQ(ranks[0].compared, 2U);
    EXPECT_THAT(ranks[0].late_s, DoubleEq(0.01));
    EXPECT_EQ(ranks[1].compared, 2U);
    EXPECT_THAT(ranks[1].late_s, DoubleEq(0.05));
    totals.finish();  // the third is of one rank alone
  }
}

TEST(CollectiveTotals, CompareARankThatComesVeryLate) {
  CollectiveTotals totals;
  totals.take(ready(0, 1, kSecondNs));
  totals.take(ready(1, 1, 61 * kSecondNs));
  EXPECT_THAT(totals.figures().ranks[1].late_s, DoubleEq(60));
}

TEST(CollectiveTotals, CompareNoMessages) {
  CollectiveTotals totals;
  for (const std::int64_t rank : {0, 1}) {
    record::Collective message = ready(rank, 1, kSecondNs * (rank + 1));
    message.kind = rank == 0 ? CollectiveKind::Send : CollectiveKind::Receive;
    totals.take(message);
  }
  totals.finish();
  EXPECT_EQ(totals.figures().ranks[0].compared, 0U);
}

TEST(CollectiveTotals, AreBoundedAndLoseNone) {
  CollectiveTotals totals;
  constexpr int kRows = 500;
  for (int number = 0; number < kRows; ++number) {
    totals.take(
        row(number % 2 == 0 ? CollectiveSource::Gloo : CollectiveSource::Nccl, number, number));
  }
  const CollectiveFigures figures = totals.figures();
  EXPECT_EQ(figures.collectives.size(), CollectiveTotals::kMaxCommunicators + 2);
  EXPECT_EQ(figures.ranks.size(), CollectiveTotals::kMaxRanks + 1);
  std::uint64_t collectives = 0;
  for (const CollectiveTotal& total : figures.collectives) {
    collectives += total.count;
  }
  std::uint64_t of_ranks = 0;
  for (const RankTotal& total : figures.ranks) {
    of_ranks += total.count;
  }
  EXPECT_EQ(collectives, kRows);
  EXPECT_EQ(of_ranks, kRows);
  EXPECT_EQ(figures.ranks.back().rank, "other");
}

// A plugin in the job wrote the rows.
TEST(CollectiveTotals, NeverFall) {
  CollectiveTotals totals;
  totals.take(ready(0, 1, kSecondNs));
  record::Collective hostile = ready(1, 1, std::numeric_limits<std::int64_t>::min() / 2);
  hostile.start_ns = std::numeric_limits<std::int64_t>::max() / 2;
  hostile.end_ns = 0;
  hostile.bytes = -5;
  hostile.waited_ns = -kSecondNs;
  hostile.kept_waiting_ns = -kSecondNs;
  totals.take(hostile);
  totals.take(ready(2, 1, std::numeric_limits<std::int64_t>::max() - kSecondNs));
  hostile.start_ns = std::numeric_limits<std::int64_t>::min();
  hostile.end_ns = std::numeric_limits<std::int64_t>::max();
  totals.take(hostile);
  totals.finish();
  const CollectiveFigures figures = totals.figures();
  EXPECT_GE(figures.collectives[0].bytes, 1000);
  EXPECT_GE(figures.collectives[0].seconds, 1);
  for (const RankTotal& total : figures.ranks) {
    EXPECT_GE(total.waited_s, 0);
    EXPECT_GE(total.kept_waiting_s, 0);
    EXPECT_GE(total.late_s, 0);
  }
}

}  // namespace
}  // namespace chokepoint::capture::live
