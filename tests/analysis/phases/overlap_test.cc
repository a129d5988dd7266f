#include "analysis/phases/overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/phases/pipeline.h"
#include "base/record/names.h"
#include "tests/analysis/phases/pipelines.h"

namespace chokepoint::analysis {
namespace {

// Ten steps of 100 ms.
class Hidden : public testing::Test {
 protected:
  OverlapInput input(double alone_ms) const {
    return {.run = run.data,
            .clocks = run.clocks,
            .exchanges = exchanges,
            .steps = steps,
            .alone_ms = alone_ms,
            .count = static_cast<double>(steps.size())};
  }
  double hidden(double alone_ms) const { return hidden_ms(input(alone_ms)); }
  double exchange_work() const { return exchange_work_ms(input(0)); }
  // A thread of a node's rank, the main one if no other is named, runs so much of each step.
  void works(std::size_t node, double ms, const std::string& thread = "1/train (main)",
             std::string_view series_name = record::kThreadCpu) {
    SeriesData series;
    series.row.name = series_name;
    series.row.subject = thread;
    const double end_ns = static_cast<double>(steps.size()) * ms * 1e6;
    series.readings = {{.t_ns = 0}, {.t_ns = steps.back().end_ns, .value = end_ns}};
    run.data.nodes[node].series.push_back(series);
  }
  void has_gpu(std::size_t node) {
    run.data.nodes[node].events.push_back({.kind = std::string(record::kGpuProcess)});
  }
  // A large tensor each step that nobody else knows about.
  void send_bytes(std::int64_t bytes_per_step) {
    const std::int64_t flow = run.connect(0, 1);
    run.flow(0, flow).totals[0].payload_bytes =
        bytes_per_step * static_cast<std::int64_t>(steps.size());
  }

  TimelineRun run{2};
  Exchanges exchanges{2};
  Spans steps = steps_ms(10, 100);
};

TEST_F(Hidden, IsNothingWithoutSteps) {
  steps.clear();
  EXPECT_EQ(hidden(50), 0);
}

TEST_F(Hidden, IsWhatAProcessorsMainThreadWorkedBeyondTheTimeAlone) {
  works(0, 60);
  works(1, 80);
  EXPECT_NEAR(hidden(55), 25, 0.1);
  EXPECT_EQ(hidden(90), 0);
}

TEST_F(Hidden, CountsTheMainThreadsWaitForAProcessorAsWork) {
  works(0, 60);
  works(0, 10, "1/train (main)", record::kThreadWait);
  EXPECT_NEAR(hidden(55), 15, 0.1);
}

// By a quota it waits far longer than it has work.
TEST_F(Hidden, CountsNoMoreWaitThanWork) {
  works(0, 40);
  works(0, 90, "1/train (main)", record::kThreadWait);
  EXPECT_NEAR(hidden(55), 25, 0.1);
}

TEST_F(Hidden, WorkOfTheExchangeIsThatOfTheThreadsBesideTheMainOne) {
  works(0, 30);
  works(0, 5, "1/train (epoll)");
  works(0, 3, "1/train (epoll)", record::kThreadWait);
  works(0, 10, "1/train");
  works(1, 30, "1/train (main)");
  works(1, 4, "1/train (epoll)");
  EXPECT_NEAR(exchange_work(), 18, 0.1);
  works(0, 25, "1/train");  // now they compute with the main one
  EXPECT_NEAR(exchange_work(), 8, 0.1);
  has_gpu(1);
  EXPECT_EQ(exchange_work(), 0);
}

TEST_F(Hidden, AMainThreadThatSpinsForItsGpuComputesNothing) {
  works(0, 100);
  works(1, 100);
  ASSERT_NEAR(hidden(60), 40, 0.1);
  record::Collective collective = row({.ready_ms = 80, .peer_ms = 80, .end_ms = 100});
  collective.source = record::CollectiveSource::Nccl;
  run.add(1, collective);
  EXPECT_LT(hidden(60), 1);
}

TEST_F(Hidden, SaysOfEachNodeWhatItsMainThreadWorked) {
  works(0, 30);
  works(0, 10, "2/train (main)");
  EXPECT_THAT(main_worked(input(0)),
              testing::ElementsAre(testing::Optional(testing::DoubleNear(10 * 30e6, 1e5)),
                                   std::optional<double>()));
  has_gpu(0);
  EXPECT_EQ(main_worked(input(0))[0], std::nullopt);
}

TEST_F(Hidden, DoesNotTakeOtherThreadsForTheMainOne) {
  works(0, 90, "1/gloo");
  EXPECT_EQ(hidden(50), 0);
}

TEST_F(Hidden, DoesNotGoByProcessorsWhereTheJobHasGpus) {
  works(0, 80);
  has_gpu(1);
  EXPECT_EQ(hidden(55), 0);

  TimelineRun by_series(2);
  std::swap(run, by_series);
  works(0, 80);
  SeriesData gpu;
  gpu.row.name = record::kGpuUtilization;
  run.data.nodes[0].series.push_back(gpu);
  EXPECT_EQ(hidden(55), 0);
}

TEST_F(Hidden, DoesNotGoByAMainThreadThatOnlyWaits) {
  works(0, 5);
  EXPECT_EQ(hidden(50), 0);
}

TEST_F(Hidden, OfAPipelineIsWhatItsStagesThinkBeyondTheTimeAlone) {
  const PipelinePlan plan{.stages = 3, .message_ms = 20};
  exchanges = pipeline(plan);
  steps = pipeline_steps(plan);
  run = TimelineRun(3);
  const double ideal_ms = *ideal_step_ns(exchanges, steps) / 1e6;
  EXPECT_NEAR(hidden(ideal_ms - 40), 40, 0.1);
  EXPECT_EQ(hidden(ideal_ms + 40), 0);
}

//   ── 40 ──┤ 1 │ 2 │ 3 ├
TEST_F(Hidden, OfBucketsThatQueueIsTheLinesModel) {
  for (std::size_t node = 0; node < 2; ++node) {
    for (int step = 0; step < 10; ++step) {
      for (int bucket = 0; bucket < 3; ++bucket) {
        const double ready = step * 100 + 40 + bucket * 20;
        exchanges[node].push_back(all_reduce(node, step * 3 + bucket, ready, ready + 20));
      }
    }
  }
  const double hidden_of_step = hidden(40);
  EXPECT_GT(hidden_of_step, 10);
  EXPECT_LE(hidden_of_step, 40);  // the last is waited for
}

//   ── 30 ──┤  1  ├1┤  2  ├1┤  3  ├
// Little pauses after long exchanges are no computing that would have gone on beside them.
TEST_F(Hidden, OfBucketsThatQueueWithLittlePausesIsTheSame) {
  for (std::size_t node = 0; node < 2; ++node) {
    for (int step = 0; step < 10; ++step) {
      for (int bucket = 0; bucket < 3; ++bucket) {
        const double ready = step * 100 + 30 + bucket * 23.3;
        exchanges[node].push_back(all_reduce(node, step * 3 + bucket, ready, ready + 22.3));
      }
    }
  }
  EXPECT_GT(hidden(30), 10);
  EXPECT_LE(hidden(30), 30);
}

//   ─ 12 ─┤  1  ├2┤  2  ├2┤  3  ├
// Too little is seen of the forward pass for a backward pass that hides most of 84 ms.
TEST_F(Hidden, IsNoMoreThanTheBackwardPassThatBelongsToTheGaps) {
  for (std::size_t node = 0; node < 2; ++node) {
    for (int step = 0; step < 10; ++step) {
      for (int bucket = 0; bucket < 3; ++bucket) {
        const double ready = step * 100 + 10 + bucket * 30;
        exchanges[node].push_back(all_reduce(node, step * 3 + bucket, ready, ready + 28));
      }
    }
  }
  const double gaps_ms = 12 + 2 + 2;
  EXPECT_GT(hidden(gaps_ms), 10);
  EXPECT_LE(hidden(gaps_ms), 2 * gaps_ms);
}

TEST_F(Hidden, WithoutMessagesGoesByBuckets) {
  EXPECT_EQ(hidden(60), 0);
  send_bytes(10'000'000);  // a single bucket is there when backward is over
  EXPECT_EQ(hidden(60), 0);
  run.flow(0, 1).totals[0].payload_bytes = 10 * 100'000'000LL;
  EXPECT_NEAR(hidden(60), 60 / 0.75 * 0.75, 10);
  EXPECT_LE(hidden(60), 60 / 0.5);
}

// Of a long run only windows are read: what went on between them is no step's.
class HiddenInWindows : public Hidden {
 protected:
  HiddenInWindows() {
    const Spans later = steps_ms(10, 100, 9000);
    steps.insert(steps.end(), later.begin(), later.end());
  }
};

TEST_F(HiddenInWindows, CountsWhatTheMainThreadWorkedInThem) {
  works(0, 80 * 10'000.0 / 100 / 20);  // all the time, also between them
  EXPECT_NEAR(hidden(55), 25, 0.1);
}

TEST_F(HiddenInWindows, GoesByTheBytesOfTheStepsBetweenThemToo) {
  send_bytes(100'000'000LL * 100 / 20);
  const double in_windows = hidden(60);
  steps = steps_ms(100, 100);
  EXPECT_NEAR(in_windows, hidden(60), 0.01);
}

TEST_F(Hidden, IsNoNumberNorNegativeOfNonsense) {
  for (const double alone_ms : {-1e9, -1.0, 0.0, 1e-9}) {
    const double nothing = hidden(alone_ms);
    EXPECT_TRUE(std::isfinite(nothing)) << alone_ms;
    EXPECT_GE(nothing, 0) << alone_ms;
  }
}

}  // namespace
}  // namespace chokepoint::analysis
