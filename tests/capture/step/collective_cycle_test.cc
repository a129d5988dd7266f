#include "capture/step/collective_cycle.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::step {
namespace {

using fakes::kMs;
using record::CollectiveKind;

class CyclesOf : public testing::Test {
 protected:
  // One after `pause_ms` of nothing.
  void collective(std::int64_t pause_ms, std::int64_t ms, std::int64_t bytes,
                  CollectiveKind kind = CollectiveKind::AllReduce, std::int64_t group = 0) {
    record::Collective row{
        .start_ns = now + pause_ms * kMs, .end_ns = now + (pause_ms + ms) * kMs, .kind = kind};
    row.bytes = bytes;
    row.communicator = group;
    now = row.end_ns;
    rows.push_back(row);
  }
  // A step of DDP: its buckets follow each other, then the next forward pass.
  void ddp_step(const std::vector<std::int64_t>& buckets, std::int64_t compute_ms = 100) {
    compute_ms += static_cast<std::int64_t>(random() % 7) - 3;
    begins.push_back(now + compute_ms * kMs);
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      collective(i == 0 ? compute_ms : 2, 10, buckets[i]);
    }
  }
  void run() {
    for (const record::Collective& row : rows) cycle.take(row, on_step);
    cycle.finish(on_step);
  }
  // How many steps.
  std::int64_t told() const {
    std::int64_t count = 0;
    for (const Step& step : seen) count += step.merged;
    return count;
  }
  // From the step numbered `from` on, each true step was told once, with its own begin and end.
  void expect_steps(std::size_t from, std::size_t most_missing = 0) const {
    ASSERT_FALSE(seen.empty());
    EXPECT_LE(seen.front().start_ns, begins[from]);
    std::size_t missing = 0;
    for (std::size_t i = from; i + 1 < begins.size(); ++i) {
      const bool is_told = std::ranges::any_of(seen, [&](const Step& step) {
        return step.start_ns == begins[i] && step.end_ns == begins[i + 1] && step.merged == 1;
      });
      missing += is_told ? 0 : 1;
    }
    EXPECT_LE(missing, most_missing);
    EXPECT_NEAR(static_cast<double>(told()), static_cast<double>(begins.size() - 1),
                static_cast<double>(from + most_missing));
  }

  OnStep on_step = [this](const Step& step) { seen.push_back(step); };
  CollectiveCycle cycle;
  std::vector<record::Collective> rows;
  std::vector<std::int64_t> begins;
  std::vector<Step> seen;
  std::int64_t now = 1'000 * kMs;
  std::mt19937 random{7};
};

TEST_F(CyclesOf, Buckets) {
  for (int i = 0; i < 300; ++i) ddp_step({1 << 20, 25 << 20, 17 << 20});
  run();
  expect_steps(0);
  EXPECT_EQ(seen.front().source, record::StepSource::Collectives);
  EXPECT_FALSE(seen.front().rank);
  EXPECT_EQ(seen.back().number, 299);
}

TEST_F(CyclesOf, BucketsOfOneSize) {
  for (int i = 0; i < 300; ++i) ddp_step({25 << 20, 25 << 20});
  run();
  expect_steps(0);
}

// A slow link holds each bucket for much longer than the forward pass takes, and none as long as
// another.
TEST_F(CyclesOf, BucketsOfOneSizeBehindASlowLink) {
  for (int i = 0; i < 7; ++i) {
    begins.push_back(now + 5 * kMs);
    for (int bucket = 0; bucket < 4; ++bucket) {
      const auto chance = static_cast<std::int64_t>(random() % 30);
      collective(bucket == 0 ? 5 : 2, (bucket == 0 ? 330 : 270) + chance, 6'551'904);
    }
  }
  run();
  EXPECT_EQ(told(), 6);
}

// As long as one another, but for chance: the pauses alone tell.
TEST_F(CyclesOf, BucketsOfOneSizeAfterPausesThatAreShortBesideThem) {
  for (int i = 0; i < 7; ++i) {
    begins.push_back(now + 30 * kMs);
    for (int bucket = 0; bucket < 4; ++bucket) {
      const auto chance = static_cast<std::int64_t>(random() % 110);
      collective(bucket == 0 ? 30 : 1, 306 + chance, 8'730'040);
    }
  }
  run();
  EXPECT_EQ(told(), 6);
}

// Now and then a step that does something else, too.
TEST_F(CyclesOf, OneBucketAndNowAndThenAPause) {
  for (int i = 0; i < 300; ++i) {
    begins.push_back(now + 100 * kMs + (i % 10 == 0 ? 8 * kMs : 0));
    collective(i % 10 == 0 ? 108 : 100, 10, 25 << 20);
  }
  run();
  expect_steps(0);
}

TEST_F(CyclesOf, OneBucket) {
  for (int i = 0; i < 300; ++i) ddp_step({25 << 20});
  run();
  expect_steps(0);
}

TEST_F(CyclesOf, AShortJobIsToldAtItsEnd) {
  for (int i = 0; i < 12; ++i) ddp_step({1 << 20, 25 << 20});
  run();
  expect_steps(0);
}

TEST_F(CyclesOf, TheBroadcastBeforeAndBucketsRebuiltAfterTheFirstStep) {
  for (int i = 0; i < 6; ++i) collective(1, 50, 30 << 20, CollectiveKind::Broadcast);
  ddp_step({25 << 20, 18 << 20});
  for (int i = 0; i < 300; ++i) ddp_step({1 << 20, 25 << 20, 17 << 20});
  run();
  expect_steps(2);
}

TEST_F(CyclesOf, ALossThatIsAveragedNowAndThen) {
  for (int i = 0; i < 300; ++i) {
    ddp_step({1 << 20, 25 << 20});
    if (i % 5 == 4) collective(1, 1, 8);
  }
  run();
  expect_steps(0);
}

TEST_F(CyclesOf, AnEvaluationNowAndThen) {
  for (int i = 0; i < 300; ++i) {
    ddp_step({1 << 20, 25 << 20});
    for (int j = 0; i % 100 == 99 && j < 8; ++j) {
      collective(40, 5, 3 << 20, CollectiveKind::AllGather);
    }
  }
  run();
  expect_steps(0, 2);
}

TEST_F(CyclesOf, CollectivesThatWereMissed) {
  for (int i = 0; i < 300; ++i) ddp_step({1 << 20, 25 << 20, 17 << 20});
  for (std::size_t i = 40; i < rows.size(); i += 40) rows.erase(rows.begin() + static_cast<int>(i));
  run();
  expect_steps(0, 16);
}

TEST_F(CyclesOf, LayersInsideAStep) {
  for (int i = 0; i < 30; ++i) {
    begins.push_back(now + 200 * kMs);
    for (int layer = 0; layer < 48; ++layer) collective(layer == 0 ? 200 : 5, 5, 4 << 20);
  }
  run();
  expect_steps(0);
}

// Their times say nothing, as on a machine that has other work.
TEST_F(CyclesOf, EqualLayersAndWhatIsGatheredAfterThem) {
  const auto pause_ms = [&] { return std::int64_t{1} + static_cast<std::int64_t>(random() % 12); };
  for (int i = 0; i < 80; ++i) {
    for (int layer = 0; layer < 16; ++layer) collective(pause_ms(), 1, 4 << 20);
    collective(pause_ms(), 1, 4 << 20, CollectiveKind::AllGather);
  }
  run();
  EXPECT_NEAR(static_cast<double>(seen.size()), 79, 1);
}

TEST_F(CyclesOf, OneOfAnotherSizeAmongEqualBuckets) {
  for (int i = 0; i < 300; ++i) ddp_step({8 << 20, 8 << 20, 8 << 20, 8 << 20}, 20);
  rows[42].bytes = 7 << 20;
  rows[53].bytes = 9 << 20;
  run();
  expect_steps(0);
}

TEST_F(CyclesOf, APauseInsideAStepByChance) {
  for (int i = 0; i < 300; ++i) {
    begins.push_back(now + 100 * kMs);
    for (int bucket = 0; bucket < 4; ++bucket) {
      const bool is_late = bucket == 2 && random() % 9 == 0;
      collective(bucket == 0 ? 100 : is_late ? 90 : 2, 10, 8 << 20);
    }
  }
  run();
  expect_steps(0);
}

TEST_F(CyclesOf, ProcessGroupsBetweenEachOther) {
  std::vector<record::Collective> layers;
  for (int i = 0; i < 100; ++i) {
    ddp_step({25 << 20, 25 << 20});
    for (int layer = 0; layer < 4; ++layer) {
      record::Collective row{.start_ns = begins.back() - (90 - 20 * layer) * kMs,
                             .kind = CollectiveKind::AllReduce};
      row.end_ns = row.start_ns + 5 * kMs;
      row.bytes = 4 << 20;
      row.communicator = 1;
      layers.push_back(row);
    }
  }
  rows.insert(rows.end(), layers.begin(), layers.end());
  std::ranges::sort(rows, {}, &record::Collective::start_ns);
  run();
  EXPECT_NEAR(static_cast<double>(seen.size()), 99, 1);
  for (const Step& step : seen) {
    EXPECT_NEAR(static_cast<double>(step.end_ns - step.start_ns) / kMs, 122, 8);
  }
}

// Of what passes on one connection for two at a time, a capture cannot always tell whose it is.
// Tensor parallel inside a host, by NVLink, with many times the bytes of the gradients that leave
// it once a step. Of rank 1 these do not leave it either: its neighbours in the ring are in its
// host.
TEST_F(CyclesOf, LayersInsideAHostBesideGradientsBetweenHosts) {
  constexpr std::int64_t kInside = 1;
  constexpr std::int64_t kBetween = 2;
  for (int step = 0; step < 60; ++step) {
    begins.push_back(now + 40 * kMs);
    for (int layer = 0; layer < 8; ++layer) {
      collective(layer == 0 ? 40 : 5, 1, 64 << 20, CollectiveKind::AllReduce, kInside);
    }
    collective(1, 10, 4 << 20, CollectiveKind::AllReduce, kBetween);
  }
  for (record::Collective& row : rows) {
    row.source = record::CollectiveSource::Nccl;
  }
  for (const record::Collective& row : rows) {
    for (const std::int64_t rank : {0, 1}) {
      record::Collective own = row;
      own.rank = rank;
      if (rank == 0 && row.communicator == kBetween) {
        own.last_data_ns = row.end_ns;
      }
      cycle.take(own, on_step);
    }
  }
  cycle.finish(on_step);
  for (const int rank : {0, 1}) {
    const auto count =
        std::ranges::count_if(seen, [&](const Step& step) { return step.rank == rank; });
    EXPECT_NEAR(static_cast<double>(count), 59, 2) << rank;
  }
}

TEST_F(CyclesOf, BucketsThatGoOnAtOnceShareTheirBytesByChance) {
  for (int i = 0; i < 80; ++i) {
    collective(100, 2, i % 7 == 0 ? 24 : 16);
    begins.push_back(now - 2 * kMs);
    const auto share = static_cast<std::int64_t>(random() % 24'000'000);
    collective(28, 280, 21'000'000 + share);
    rows.push_back(rows.back());
    rows.back().start_ns += 8 * kMs;
    rows.back().bytes = 45'000'000 - share;
  }
  run();
  EXPECT_NEAR(static_cast<double>(seen.size()), 79, 1);
  for (const Step& step : seen) EXPECT_EQ(step.end_ns - step.start_ns, 410 * kMs);
}

TEST_F(CyclesOf, StepsOfUnlikeLengthAreNotPutTogether) {
  for (int i = 0; i < 100; ++i) {
    ddp_step({8 << 20, 8 << 20}, 20 + static_cast<std::int64_t>(random() % 60));
  }
  run();
  expect_steps(0);
}

TEST_F(CyclesOf, TheirOrderMayBeAFewPlacesOff) {
  for (int i = 0; i < 300; ++i) ddp_step({1 << 20, 25 << 20, 17 << 20});
  for (std::size_t i = 5; i + 2 < rows.size(); i += 7) std::swap(rows[i], rows[i + 2]);
  run();
  expect_steps(0);
}

TEST_F(CyclesOf, RanksHaveStepsOfTheirOwn) {
  for (int i = 0; i < 300; ++i) ddp_step({1 << 20, 25 << 20});
  std::vector<record::Collective> both;
  for (record::Collective row : rows) {
    for (const int rank : {0, 3}) {
      row.rank = rank;
      both.push_back(row);
    }
  }
  rows = both;
  run();
  const auto of_rank = [&](int rank) {
    return std::ranges::count_if(seen, [&](const Step& step) { return step.rank == rank; });
  };
  EXPECT_EQ(of_rank(0), 299);
  EXPECT_EQ(of_rank(3), 299);
}

TEST_F(CyclesOf, ChanceHasNoCycle) {
  for (int i = 0; i < 900; ++i) {
    collective(1 + static_cast<std::int64_t>(random() % 50), 2, 1 << (10 + random() % 15));
  }
  run();
  EXPECT_TRUE(seen.empty());
}

}  // namespace
}  // namespace chokepoint::capture::step
