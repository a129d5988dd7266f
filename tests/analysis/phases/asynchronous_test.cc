// Collectives beside computing, over overlap.cc and steps.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "analysis/phases/overlap.h"
#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

// Of each step two collectives. The first takes longer by `more` in every other step and so on, and
// the computing seen after it is `then`'s answer to how long it took.
struct Plan {
  int steps = 40;
  double bytes = 4e6;
  double (*then)(double took) = nullptr;
};

struct Made {
  std::vector<Exchange> exchanges = {};
  Spans steps = {};
  double first_ns = 0;  // sum of the first collectives
};

Made made(const Plan& plan) {
  Made made;
  for (int step = 0; step < plan.steps; ++step) {
    const double at = step * 200;
    const double took = 10 + step * 7 % 20;
    const double second = at + 20 + took + plan.then(took);
    made.exchanges.push_back(all_reduce(0, 2 * step, at + 20, at + 20 + took, plan.bytes));
    made.exchanges.push_back(all_reduce(0, 2 * step + 1, second, second + 5, plan.bytes));
    made.steps.push_back(span_ms(at, at + 200));
    made.first_ns += took * 1e6;
  }
  return made;
}

double unwaited_ns(const std::vector<Exchange>& exchanges, const Spans& steps,
                   std::optional<double> worked_ns = {}) {
  double sum_ns = 0;
  for (Line& line : lines_of(exchanges)) {
    mark_unwaited(line, steps, worked_ns);
    for (const StageGap& gap : line.gaps) {
      sum_ns +=
          gap.unwaited ? static_cast<double>(gap.exchange->end_ns - gap.exchange->all_ready_ns) : 0;
    }
  }
  return sum_ns;
}

double hidden_ns(const Made& made) { return unwaited_ns(made.exchanges, made.steps); }

//   exchange ────────── │ comp. │ and ───── │ computing │: the sum stays the same
TEST(Asynchronous, HidesWhatTheComputingAfterItMakesUpFor) {
  const Made run = made({.bytes = 1000, .then = [](double took) { return 60 - took; }});
  EXPECT_NEAR(hidden_ns(run), run.first_ns, run.first_ns * 0.01);
}

TEST(Asynchronous, HidesNothingWhereTheComputingAfterItIsTheSame) {
  const Made run = made({.bytes = 40e6, .then = [](double) { return 60.0; }});
  EXPECT_EQ(hidden_ns(run), 0);
}

TEST(Asynchronous, GoesBySizeWhereThereAreFewSamples) {
  const auto same = [](double) { return 60.0; };
  const Made large = made({.steps = 4, .bytes = 40e6, .then = same});
  EXPECT_NEAR(hidden_ns(large), large.first_ns, 1);
  EXPECT_EQ(hidden_ns(made({.steps = 4, .bytes = 1000, .then = same})), 0);
}

TEST(Asynchronous, GoesBySizeWhereAllTakeTheSame) {
  std::vector<Exchange> exchanges;
  for (int step = 0; step < 40; ++step) {
    exchanges.push_back(all_reduce(0, 2 * step, step * 100, step * 100 + 10, 40e6));
    exchanges.push_back(all_reduce(0, 2 * step + 1, step * 100 + 50, step * 100 + 60, 40e6));
  }
  EXPECT_NEAR(unwaited_ns(exchanges, steps_ms(40, 100)), 40 * 10e6, 1);
}

// FSDP's all-gathers on processors, of 2 MB: a rank that waited 40 ms in each was told to compute.
TEST(Asynchronous, HidesNothingWhereTheMainThreadWorkedNoMoreThanBetweenExchanges) {
  std::vector<Exchange> exchanges;
  for (int step = 0; step < 40; ++step) {
    exchanges.push_back(all_reduce(0, 2 * step, step * 100, step * 100 + 40, 40e6));
    exchanges.push_back(all_reduce(0, 2 * step + 1, step * 100 + 60, step * 100 + 70, 40e6));
  }
  const Spans steps = steps_ms(40, 100);
  const double first_ns = 40 * 40e6;
  const double gaps_ns = 40 * (20e6 + 30e6);
  EXPECT_EQ(unwaited_ns(exchanges, steps, gaps_ns * 1.1), 0);
  EXPECT_NEAR(unwaited_ns(exchanges, steps, gaps_ns + first_ns), first_ns, 1);
  EXPECT_NEAR(unwaited_ns(exchanges, steps, gaps_ns * 0.1), first_ns, 1) << "it computes elsewhere";
}

TEST(Asynchronous, LeavesBurstsToTheLine) {
  std::vector<Exchange> exchanges;
  for (int step = 0; step < 40; ++step) {
    exchanges.push_back(all_reduce(0, 2 * step, step * 100, step * 100 + 10, 40e6));
    exchanges.push_back(all_reduce(0, 2 * step + 1, step * 100 + 10, step * 100 + 20, 40e6));
  }
  EXPECT_EQ(unwaited_ns(exchanges, steps_ms(40, 100)), 0);
}

TEST(Asynchronous, CountsOnlyWhatBeginsInAStep) {
  const Made run = made({.steps = 40, .then = [](double took) { return 60 - took; }});
  const Spans second_half(run.steps.begin() + 20, run.steps.end());
  const double half = unwaited_ns(run.exchanges, second_half);
  EXPECT_GT(half, 0.4 * run.first_ns);
  EXPECT_LT(half, 0.6 * run.first_ns);
  EXPECT_EQ(unwaited_ns(run.exchanges, {}), 0);
  EXPECT_EQ(unwaited_ns({}, run.steps), 0);
}

}  // namespace
}  // namespace chokepoint::analysis
