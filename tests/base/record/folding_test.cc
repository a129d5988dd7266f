#include "base/record/folding.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/base/record/record_folder.h"

namespace chokepoint::record {
namespace {

constexpr std::int64_t kMs = 1'000'000;

std::vector<FlowSample> fold_all(const std::vector<FlowSample>& rows, std::int64_t width_ns) {
  return folded(std::span(rows), width_ns);
}

TEST(Fold, CombinesEachColumnByItsRule) {
  const std::vector<FlowSample> rows{{.t_ns = 20 * kMs,
                                      .bin_ns = 20 * kMs,
                                      .flow = 1,
                                      .packets = 3,
                                      .rtt_us = 100,
                                      .min_rtt_us = 90,
                                      .max_in_flight_bytes = 7},
                                     {.t_ns = 40 * kMs,
                                      .bin_ns = 20 * kMs,
                                      .flow = 1,
                                      .packets = 4,
                                      .rtt_us = 200,
                                      .min_rtt_us = 95,
                                      .max_in_flight_bytes = 5}};
  const auto result = fold_all(rows, kSecond);
  ASSERT_EQ(result.size(), 1U);
  EXPECT_EQ(result[0].t_ns, 40 * kMs);
  EXPECT_EQ(result[0].bin_ns, 40 * kMs);
  EXPECT_EQ(result[0].merged, 2);
  EXPECT_EQ(result[0].packets, Figure(7));
  EXPECT_EQ(result[0].rtt_us, Figure(150));
  EXPECT_EQ(result[0].min_rtt_us, Figure(90));
  EXPECT_EQ(result[0].max_in_flight_bytes, Figure(7));
}

TEST(Fold, KeepsKeysAndBinsApart) {
  const std::vector<FlowSample> rows{{.t_ns = 10, .flow = 1},
                                     {.t_ns = 20, .flow = 2},
                                     {.t_ns = 30, .flow = 1, .direction = Direction::BToA},
                                     {.t_ns = kSecond, .flow = 1},
                                     {.t_ns = kSecond + 1, .flow = 1}};
  const auto result = fold_all(rows, kSecond);
  ASSERT_EQ(result.size(), 4U);
  EXPECT_TRUE(std::ranges::is_sorted(result, {}, &FlowSample::t_ns));
  EXPECT_EQ(result.back().t_ns, kSecond + 1) << "a row that ends on a border ends the bin before";
}

TEST(Fold, TheUnknownDoesNotCount) {
  const std::vector<FlowSample> rows{{.t_ns = 1, .rtt_us = 100}, {.t_ns = 2}};
  const auto result = fold_all(rows, kSecond);
  EXPECT_EQ(result[0].rtt_us, Figure(100));
  EXPECT_FALSE(result[0].packets.known());
}

TEST(Fold, MeansAreWeighedOverSeveralFolds) {
  const GaugeSample many{.t_ns = 1, .merged = 9, .value = 10, .peak = 12};
  const GaugeSample one{.t_ns = 2, .value = 20, .peak = 20};
  const GaugeSample both = combined(many, one);
  EXPECT_DOUBLE_EQ(both.value, 11);
  EXPECT_DOUBLE_EQ(both.peak, 20);
}

TEST(Fold, CountersKeepTheLast) {
  const CounterSample first{.t_ns = 1, .value = 10};
  const CounterSample second{.t_ns = 2, .value = 20};
  EXPECT_DOUBLE_EQ(combined(first, second).value, 20);
}

TEST(Fold, StepsKeepTheirOwnTime) {
  const Step first{.start_ns = 0, .end_ns = 10, .number = 1};
  const Step second{.start_ns = 15, .end_ns = 20, .number = 2};
  const Step both = combined(first, second);
  EXPECT_EQ(both.start_ns, 0);
  EXPECT_EQ(both.end_ns, 20);
  EXPECT_EQ(both.busy_ns, Figure(15));
  EXPECT_EQ(both.merged, 2);
  EXPECT_EQ(both.number, 2);
}

class Folding : public RecordFolder {
 protected:
  static constexpr std::int64_t kFlows = 20;
  static constexpr std::int64_t kBin = 20 * kMs;

  // As long as it takes: refused rows are pushed again, because sums are compared below.
  static void push(Producer& producer, const FlowSample& sample) {
    while (!producer.push(sample)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  struct Totals {
    std::int64_t packets = 0;
    std::int64_t merged = 0;
    std::int64_t covered_ns = 0;
    bool operator==(const Totals&) const = default;
  };
  Totals totals(Reader& reader) {
    Totals sum;
    std::int64_t last = 0;
    for (const FlowSample& sample : rows<FlowSample>(reader)) {
      sum.packets += sample.packets.value();
      sum.merged += sample.merged;
      sum.covered_ns += sample.bin_ns;
      EXPECT_GE(sample.t_ns, last);
      last = sample.t_ns;
    }
    return sum;
  }
};

TEST_F(Folding, ALongRunStaysWithinItsBoundAndLosesNoSum) {
  constexpr std::int64_t kBins = 20'000;
  WriterOptions small = options();
  small.limits.max_bytes = 4'000'000;
  auto writer = open_writer(small);
  {
    Producer producer = writer->producer("flows");
    for (std::int64_t bin = 1; bin <= kBins; ++bin) {
      for (std::int64_t flow = 0; flow < kFlows; ++flow) {
        push(producer, {.t_ns = bin * kBin, .bin_ns = kBin, .flow = flow, .packets = bin % 7});
      }
    }
  }
  const WriterStatus status = writer->close();
  EXPECT_LE(status.bytes, small.limits.max_bytes);
  EXPECT_LE(std::filesystem::file_size(file()),
            static_cast<std::uintmax_t>(small.limits.max_bytes * 5 / 4));

  Reader reader = open_reader();
  std::int64_t packets = 0;
  for (std::int64_t bin = 1; bin <= kBins; ++bin) {
    packets += bin % 7 * kFlows;
  }
  EXPECT_EQ(totals(reader), (Totals{packets, kBins * kFlows, kBins * kBin * kFlows}));
  EXPECT_LT(*reader.count<FlowSample>(), kBins * kFlows / 4);
}

TEST_F(Folding, GoesOnWhereTheLastSessionStopped) {
  WriterOptions small = options();
  small.limits.max_bytes = 1'000'000;
  for (std::int64_t session = 0; session < 3; ++session) {
    auto writer = open_writer(small);
    Producer producer = writer->producer("flows");
    for (std::int64_t bin = session * 2000 + 1; bin <= (session + 1) * 2000; ++bin) {
      for (std::int64_t flow = 0; flow < kFlows; ++flow) {
        push(producer, {.t_ns = bin * kBin, .bin_ns = kBin, .flow = flow, .packets = 1});
      }
    }
    EXPECT_LE(writer->close().bytes, small.limits.max_bytes);
  }
  Reader reader = open_reader();
  EXPECT_EQ(totals(reader), (Totals{6000 * kFlows, 6000 * kFlows, 6000 * kBin * kFlows}));
}

TEST_F(Folding, GivesUpTheOldestWhereNoBinIsCoarseEnough) {
  WriterOptions small = options();
  small.limits.max_bytes = 1'000'000;
  auto writer = open_writer(small);
  {
    Producer producer = writer->producer("flows");
    // Every row has a key of its own, so that nothing can be folded together.
    for (std::int64_t flow = 0; flow < 40'000; ++flow) {
      push(producer, {.t_ns = flow * kMs, .bin_ns = kMs, .flow = flow, .packets = 1});
    }
  }
  const WriterStatus status = writer->close();
  EXPECT_LE(status.bytes, small.limits.max_bytes);
  Reader reader = open_reader();
  const std::int64_t kept = *reader.count<FlowSample>();
  const auto given_up = std::ranges::find(status.losses, "oldest detail", &Loss::subject);
  ASSERT_NE(given_up, status.losses.end());
  EXPECT_EQ(kept + static_cast<std::int64_t>(given_up->rows), 40'000);
  EXPECT_EQ(rows<FlowSample>(reader).back().flow, 39'999) << "the newest stay";
}

}  // namespace
}  // namespace chokepoint::record
