#include "analysis/evidence/step_figures.h"

#include <gmock/gmock.h>

namespace chokepoint::analysis {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Optional;
using testing::SizeIs;
using About = Claim::About;

// 400 to 410 ms each.
std::vector<PrintedSteps> usual(std::size_t count) {
  std::vector<PrintedSteps> steps;
  for (std::size_t at = 0; at < count; ++at) {
    steps.push_back(
        {.line = at + 3, .ordinal = at + 1, .ms = 400.0 + static_cast<double>(at * 7 % 11)});
  }
  return steps;
}

TEST(PeriodicSteps, AreFoundWithWhatTheyCost) {
  std::vector<PrintedSteps> steps = usual(300);
  for (std::size_t at = 49; at < steps.size(); at += 50) {
    steps[at].ms += 3'100;
  }
  const auto slow = periodic_in(steps);
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->every, 50U);
  EXPECT_EQ(slow->times, 6U);
  EXPECT_NEAR(slow->more_ms, 3'100, 20);
  EXPECT_NEAR(slow->share, 6 * 3'100 / (300 * 405.0 + 6 * 3'100), 0.005);
}

TEST(PeriodicSteps, AreNoneWhereSlowOnesComeAnyhow) {
  std::vector<PrintedSteps> steps = usual(300);
  EXPECT_FALSE(periodic_in(steps));
  for (const std::size_t at : {13U, 40U, 47U, 133U, 139U, 250U}) {
    steps[at].ms += 3'100;
  }
  EXPECT_FALSE(periodic_in(steps));
  EXPECT_FALSE(periodic_in({}));
}

TEST(ChangedSteps, AreFoundWithTheLine) {
  std::vector<PrintedSteps> steps = usual(200);
  for (std::size_t at = 120; at < steps.size(); ++at) {
    steps[at].ms *= 1.5;
  }
  const auto change = change_in(steps);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->line, steps[120].line);
  EXPECT_NEAR(change->before_ms, 405, 6);
  EXPECT_NEAR(change->after_ms, 608, 9);
  EXPECT_FALSE(change_in(usual(200)));
  EXPECT_FALSE(change_in(usual(3)));
}

TEST(ClaimsOfPrintedSteps, SayTheMedianAndWhatIsUnusual) {
  ToolFile file{.tool = Tool::JobLog, .file = "job.log", .printed = usual(300)};
  EXPECT_THAT(claims_of_steps({file}), SizeIs(1));
  for (std::size_t at = 49; at < file.printed.size(); at += 50) {
    file.printed[at].ms += 3'100;
  }
  const auto claims = claims_of_steps({file});
  EXPECT_THAT(claims, Contains(AllOf(Field(&Claim::about, About::Step),
                                     Field(&Claim::value, Optional(testing::DoubleNear(405, 6))))));
  EXPECT_THAT(claims, Contains(AllOf(Field(&Claim::about, About::Unusual),
                                     Field(&Claim::what, HasSubstr("every 50th step")))));
}

}  // namespace
}  // namespace chokepoint::analysis
