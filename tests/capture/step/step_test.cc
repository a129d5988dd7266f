#include "capture/step/step.h"

#include <gmock/gmock.h>

#include "tests/base/record/record_folder.h"
#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::step {
namespace {

using fakes::kMs;
using record::StepSource;

class LedgerTest : public record::RecordFolder {
 protected:
  static Step step(std::int64_t index, std::int64_t ms, StepSource source = StepSource::Output) {
    return {.start_ns = (1000 + index * ms) * kMs,
            .end_ns = (1000 + (index + 1) * ms) * kMs,
            .source = source};
  }
};

TEST_F(LedgerTest, TheBestSourceIsLookedAt) {
  const auto writer = open_writer();
  Ledger ledger(*writer, std::nullopt);
  EXPECT_FALSE(ledger.figures().source);
  ledger.take(step(0, 20, StepSource::Traffic));
  EXPECT_EQ(ledger.figures().source, StepSource::Traffic);
  for (int i = 0; i < 100; ++i) ledger.take(step(i, i < 50 ? 500 : 30, StepSource::Output));
  const Figures figures = ledger.figures();
  EXPECT_EQ(figures.source, StepSource::Output);
  EXPECT_EQ(figures.count, 100);
  EXPECT_DOUBLE_EQ(*figures.median_ms, 30);
  EXPECT_DOUBLE_EQ(*figures.last_ms, 30);
  EXPECT_FALSE(figures.samples_per_s);
}

TEST_F(LedgerTest, MergedStepsCountAsManyAndLastTheirShare) {
  const auto writer = open_writer();
  Ledger ledger(*writer, 64);
  Step ten = step(0, 1000);
  ten.merged = 10;
  ledger.take(ten);
  EXPECT_EQ(ledger.figures().count, 10);
  EXPECT_DOUBLE_EQ(*ledger.figures().last_ms, 100);
  EXPECT_DOUBLE_EQ(*ledger.figures().samples_per_s, 640);
  ten = step(1, 1000);
  ten.merged = 10;
  ten.busy_ns = 800 * kMs;
  ledger.take(ten);
  EXPECT_DOUBLE_EQ(*ledger.figures().last_ms, 80);
}

TEST_F(LedgerTest, SamplesOfTheWholeJobAreCountedOnce) {
  const auto writer = open_writer();
  Ledger ledger(*writer, 100);
  for (int i = 0; i < 4; ++i) {
    for (const int rank : {3, 1}) {
      Step marked = step(i, 100, StepSource::Marks);
      marked.rank = rank;
      ledger.take(marked);
    }
  }
  EXPECT_DOUBLE_EQ(*ledger.figures().samples_per_s, 1000);
  EXPECT_EQ(ledger.figures().count, 4);
}

TEST_F(LedgerTest, SamplesThatRanksTellAreSummed) {
  const auto writer = open_writer();
  Ledger ledger(*writer, 1);
  for (const int rank : {0, 1}) {
    Step marked = step(0, 100, StepSource::Marks);
    marked.rank = rank;
    marked.samples = 50;
    ledger.take(marked);
  }
  EXPECT_DOUBLE_EQ(*ledger.figures().samples_per_s, 1000);
}

TEST_F(LedgerTest, WhatCannotBeIsLeftOut) {
  const auto writer = open_writer();
  Ledger ledger(*writer, std::nullopt);
  ledger.take({.start_ns = 5, .end_ns = 5});
  ledger.take({.start_ns = 5, .end_ns = 9, .merged = 0});
  EXPECT_FALSE(ledger.figures().source);
}

TEST_F(LedgerTest, TheRecordHoldsAllSourcesAsReadersExpectThem) {
  const auto writer = open_writer();
  {
    Ledger ledger(*writer, 64);
    ledger.take(step(0, 20, StepSource::Traffic));
    Step ten = step(0, 1000);
    ten.merged = 10;
    ten.number = 10;
    ledger.take(ten);
    ledger.take(step(1, 1000));
  }
  EXPECT_EQ(writer->close().dropped, 0U);
  record::Reader reader = open_reader();
  const auto rows = *reader.all<record::Step>();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].merged, 10);
  EXPECT_EQ(rows[1].number, 10);
  EXPECT_EQ(rows[1].samples.value(), 640);
  EXPECT_FALSE(rows[1].rank.known());
  EXPECT_FALSE(rows[1].longest_ns.known());
  EXPECT_EQ(rows[2].number, 11);
  EXPECT_EQ(rows[2].longest_ns.value(), 1000 * kMs);
}

}  // namespace
}  // namespace chokepoint::capture::step
