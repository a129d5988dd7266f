#include "analysis/evidence/log_steps.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace chokepoint::analysis {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<PrintedSteps> printed(const std::string& text) {
  const auto file = read_tool_file(text, "job.log");
  return file ? file->printed : std::vector<PrintedSteps>();
}

// Twenty lines; the number counts from 1.
template <class F>
std::string lines(F&& line) {
  std::string text = "loading the model\n";
  for (int number = 1; number <= 20; ++number) {
    text += line(number) + "\n";
  }
  return text;
}

TEST(LogSteps, HaveTheDurationThatALinePrints) {
  const auto megatron = printed(lines([](int number) {
    return fmt::format(
        " iteration {:8}/ 5000 | consumed samples: 9 | elapsed time per iteration (ms): 412.5 | "
        "lr: "
        "1E-4",
        number);
  }));
  EXPECT_THAT(megatron, SizeIs(20));
  EXPECT_THAT(megatron, Each(Field(&PrintedSteps::ms, DoubleNear(412.5, 1e-6))));
  EXPECT_EQ(megatron.at(4).line, 6U);
  for (const char* form :
       {"step {}: loss 2.31, time 412.5ms", "iter {} loss 2.31 step_time=0.4125",
        "Epoch: [0][{:4}/5005]\tTime  0.4125 ( 0.4400)\tData  0.001", "step {} | dt: 412.5 ms"}) {
    const auto own =
        printed(lines([&](int number) { return fmt::format(fmt::runtime(form), number); }));
    EXPECT_THAT(own, SizeIs(20)) << form;
    EXPECT_THAT(own, Each(Field(&PrintedSteps::ms, DoubleNear(412.5, 1e-6)))) << form;
  }
}

TEST(LogSteps, AreTimedByTheClockOfTheirLines) {
  const auto steps = printed(lines([](int number) {
    return fmt::format("2026-11-29 12:34:{:02},{:03} INFO step {} loss 2.31", number * 2 / 5,
                       number * 400 % 1000, number * 10);
  }));
  ASSERT_THAT(steps, SizeIs(19));
  EXPECT_THAT(steps, Each(Field(&PrintedSteps::ms, DoubleNear(40, 1e-6))));
  EXPECT_THAT(steps, Each(Field(&PrintedSteps::count, 10U)));
}

TEST(LogSteps, OfABarAreTimedOverManySecondsAtOnce) {
  std::string bar;
  for (int number = 0; number <= 100; ++number) {
    bar += fmt::format("\r{:3}%|████| {}/100 [{:02}:{:02}<01:00,  1.00s/it]", number, number,
                       number * 2 / 60, number * 2 % 60);
  }
  const auto steps = printed(bar + "\n");
  EXPECT_THAT(steps, SizeIs(testing::Ge(15U)));
  EXPECT_THAT(steps, Each(Field(&PrintedSteps::ms, DoubleNear(2'000, 1))));
  EXPECT_THAT(steps, Each(Field(&PrintedSteps::line, 1U)));
}

TEST(LogSteps, OfSeveralRanksAreThoseOfOne) {
  const auto steps = printed(lines([](int number) {
    return fmt::format("0: step {}: time 410ms\n1: step {}: time 410ms", number, number);
  }));
  EXPECT_THAT(steps, SizeIs(20));
}

TEST(LogSteps, WithoutATimeAreNone) {
  EXPECT_THAT(printed(lines([](int number) { return fmt::format("step {} loss 2.3", number); })),
              IsEmpty());
  // Since the job began.
  EXPECT_THAT(printed(lines(
                  [](int number) { return fmt::format("step {} time {}s", number, number * 3); })),
              IsEmpty());
  EXPECT_THAT(printed("step 1 time 3s\nstep 2 time 3s\n"), IsEmpty());
}

}  // namespace
}  // namespace chokepoint::analysis
