#include "capture/run/steps.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "tests/base/record/record_folder.h"
#include "tests/capture/step/synthetic_traffic.h"
#include "tests/fakes/nanoseconds.h"
#include "tests/fakes/no_descriptors.h"

namespace chokepoint::capture::run {
namespace {

using fakes::kMs;
using fakes::kSecond;
using record::StepSource;
using testing::HasSubstr;
using testing::StartsWith;

class RunSteps : public record::RecordFolder {
 protected:
  Steps& make(Options options = {}) {
    if (options.runtime_folder == Options().runtime_folder) {
      options.runtime_folder = folder_.path();
    }
    steps_ = std::move(Steps::make(options, clock_, *writer_).value());
    return *steps_;
  }
  std::vector<record::Step> recorded() {
    steps_.reset();
    writer_->close();
    record::Reader reader = open_reader();
    return rows<record::Step>(reader);
  }

  // 300 steps of 200 ms with two collectives each, in this order.
  static std::vector<record::Collective> job_of_collectives() {
    std::vector<record::Collective> all;
    for (int step = 0; step < 300; ++step) {
      for (int i = 0; i < 2; ++i) {
        record::Collective row{.start_ns = kSecond + (step * 200 + 150 + i * 20) * kMs,
                               .kind = record::CollectiveKind::AllReduce};
        row.end_ns = row.start_ns + 10 * kMs;
        row.bytes = i == 0 ? 1 << 20 : 25 << 20;
        row.communicator = 0;
        all.push_back(row);
      }
    }
    return all;
  }
  // So many steps of 100 ms or so, looked at once a second. Returns when the last one ends.
  static std::int64_t play_traffic(Steps& steps, int count) {
    std::vector<observer::TrafficBin> bins;
    std::int64_t looked_ns = 0;
    step::SyntheticTraffic traffic(7);
    traffic.play({.step_ms = 100, .jitter = 0.03}, count,
                 [&](std::int64_t t_ns, std::uint64_t bytes) {
                   bins.push_back({.time_ns = t_ns, .bytes = bytes});
                   if (t_ns - looked_ns >= kSecond) {
                     looked_ns = t_ns;
                     steps.take(std::exchange(bins, {}));
                     steps.poll(t_ns);
                   }
                 });
    steps.take(bins);
    return traffic.now_ns();
  }

  std::unique_ptr<record::Writer> writer_ = open_writer();
  std::unique_ptr<Steps> steps_;
};

TEST_F(RunSteps, AreReadFromWhatTheJobPrints) {
  Steps& steps = make({.step_expression = "now (?P<step>\\d+)", .samples_per_step = 16});
  for (int i = 1; i <= 4; ++i) {
    const std::string line = "now " + std::to_string(i) + "\n";
    steps.take_output({.t_ns = i * kSecond, .bytes = line});
  }
  const step::Figures figures = steps.figures();
  EXPECT_EQ(figures.source, StepSource::Output);
  EXPECT_EQ(figures.count, 3);
  EXPECT_DOUBLE_EQ(figures.last_ms.value(), 1000);
  EXPECT_DOUBLE_EQ(figures.samples_per_s.value(), 16);
  EXPECT_EQ(recorded().size(), 3U);
}

TEST_F(RunSteps, NeverMakeALineOfBothOutputs) {
  Steps& steps = make({.step_expression = "now (?P<step>\\d+)"});
  for (int i = 1; i <= 4; ++i) {
    const std::string line = " " + std::to_string(i) + "\n";
    steps.take_output({.t_ns = i * kSecond, .stream = job::Stream::Out, .bytes = "now"});
    steps.take_output({.t_ns = i * kSecond, .stream = job::Stream::Err, .bytes = line});
  }
  EXPECT_EQ(steps.figures().count, 0);
}

TEST_F(RunSteps, OfAnExpressionThatIsNoneAreAnError) {
  const auto made = Steps::make({.step_expression = "now ("}, clock_, *writer_);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::Usage);
}

TEST_F(RunSteps, OfMarksArePreferredToThoseOfTheOutput) {
  Steps& steps = make({.step_expression = "now (?P<step>\\d+)"});
  EXPECT_FALSE(steps.remark());
  for (int i = 1; i <= 5; ++i) {
    clock_.advance(100 * kMs);
    const std::string line = "now " + std::to_string(i) + "\n";
    steps.take_output({.t_ns = clock_.monotonic_ns(), .bytes = line});
    ASSERT_TRUE(step::send_mark(steps.marks_path(), {.name = "step"}));
    clock_.advance(100 * kMs);
    steps.take_marks({});
  }
  EXPECT_EQ(steps.figures().source, StepSource::Marks);
  EXPECT_EQ(steps.figures().count, 4);
  const std::vector<record::Step> all = recorded();
  EXPECT_EQ(std::ranges::count(all, StepSource::Marks, &record::Step::source), 4);
  EXPECT_EQ(std::ranges::count(all, StepSource::Output, &record::Step::source), 4);
}

TEST_F(RunSteps, GoOnWhereMarksCannotBeReceivedAndSayWhy) {
  if (fakes::kVirtualCallsNeedDescriptors) {
    GTEST_SKIP() << "the sanitizer needs descriptors";
  }
  std::optional<fakes::NoDescriptors> none(std::in_place, 0);
  Steps& steps = make({.step_expression = "now (?P<step>\\d+)"});
  none.reset();
  ASSERT_TRUE(steps.remark());
  EXPECT_THAT(*steps.remark(), StartsWith("no marks: "));
  EXPECT_EQ(steps.marks_path(), "");
  steps.take_marks({});
  for (int i = 1; i <= 2; ++i) {
    const std::string line = "now " + std::to_string(i) + "\n";
    steps.take_output({.t_ns = i * kSecond, .bytes = line});
  }
  EXPECT_EQ(steps.figures().count, 1);
}

// They come from several threads: what began first may come last.
TEST_F(RunSteps, OfCollectivesAreFoundInWhateverOrderTheseCome) {
  const std::vector<record::Collective> all = job_of_collectives();
  Steps& steps = make();
  for (const record::Collective& each : all | std::views::reverse) {
    steps.take(each);
  }
  EXPECT_EQ(steps.figures().count, 0);
  steps.poll(62 * kSecond);
  steps.finish(62 * kSecond);
  EXPECT_EQ(steps.figures().source, StepSource::Collectives);
  const std::vector<record::Step> found = recorded();
  ASSERT_GE(found.size(), 298U);
  for (const record::Step& step : found) {
    EXPECT_EQ(step.end_ns - step.start_ns, 200 * kMs);
    EXPECT_EQ((step.start_ns - kSecond) % (200 * kMs), 150 * kMs);
  }
}

TEST_F(RunSteps, OfTrafficAreEstimatedWhileTheJobRuns) {
  Steps& steps = make();
  play_traffic(steps, 500);
  EXPECT_EQ(steps.figures().source, StepSource::Traffic);
  EXPECT_GT(steps.figures().count, 400);
  EXPECT_NEAR(steps.figures().median_ms.value(), 100, 5);
}

// They are held back while the period may be part of a longer one.
TEST_F(RunSteps, OfAShortJobsTrafficAreReportedAtItsEnd) {
  Steps& steps = make();
  const std::int64_t end_ns = play_traffic(steps, 100);
  EXPECT_EQ(steps.figures().count, 0);
  steps.finish(end_ns);
  EXPECT_GT(steps.figures().count, 80);
  // With what came after the last look.
  const std::vector<record::Step> all = recorded();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(std::ranges::count(all, StepSource::Traffic, &record::Step::source), std::ssize(all));
  EXPECT_GT(std::ranges::max(all, {}, &record::Step::end_ns).end_ns, end_ns - 500 * kMs);
}

}  // namespace
}  // namespace chokepoint::capture::run
