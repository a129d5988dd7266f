#include "analysis/attribution/step_accounts.h"

#include <gmock/gmock.h>

#include "analysis/attribution/diagnose.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using testing::DoubleNear;
using testing::SizeIs;

constexpr DiagnoseOptions kOptions = {};

// Two hosts whose link is full for 60 of each step's 100 ms.
MadeRun run_on_a_full_link() {
  MadeRun made({.step_ms = 100, .steps = 20});
  made.host("a", {.speed_mbps = 1000});
  made.host("b", {.speed_mbps = 1000});
  made.add_traffic(made.connect("a", "b"), record::Direction::AToB, full_link());
  return made;
}

TEST(StepAccounts, EachSumsToItsStepAndAllOfThemToTheDiagnosis) {
  const MadeRun made = run_on_a_full_link();
  const Inquiry inquiry = inquire(made.data);
  const auto steps = step_accounts(made.data, kOptions, inquiry);
  ASSERT_TRUE(inquiry.diagnosis.accounting);
  ASSERT_THAT(steps, SizeIs(inquiry.steps.settled.size()));
  Accounting mean;
  for (const StepAccounts& step : steps) {
    EXPECT_NEAR(step.accounting.sum(), static_cast<double>(step.span.length_ns()) / 1e6, 1e-6);
    for (std::size_t account = 0; account < kAccounts; ++account) {
      mean.ms.at(account) += step.accounting.ms.at(account) / static_cast<double>(steps.size());
    }
  }
  for (std::size_t account = 0; account < kAccounts; ++account) {
    EXPECT_NEAR(mean.ms.at(account), inquiry.diagnosis.accounting->ms.at(account), 1e-3)
        << name_of(Account(account));
  }
  EXPECT_GT(mean[Account::Link], 40);
}

TEST(StepAccounts, WaitingStandsInTheStepInWhichSomebodyWasWaitedFor) {
  MadeRun made({.step_ms = 100, .steps = 20});
  made.host("a");
  made.host("b");
  made.add_traffic(made.connect("a", "b"), record::Direction::AToB, {.busy_ms = 10});
  made.collectives(10, {0, 0});
  // b comes 40 ms late to the collective of the eleventh step alone.
  for (NodeData& node : made.data.nodes) {
    record::Collective& late = node.collectives.at(10);
    const std::int64_t ready_ns = late.end_ns - 10'000'000;
    late.start_ns = ready_ns - (node.name == "a" ? 40'000'000 : 0);
    late.own_ready_ns = late.start_ns;
    late.peer_ready_ns = node.name == "a" ? ready_ns : late.start_ns;
  }
  const Inquiry inquiry = inquire(made.data);
  const auto steps = step_accounts(made.data, kOptions, inquiry);
  ASSERT_FALSE(steps.empty());
  const auto waited = [](const StepAccounts& step) { return step.accounting[Account::Straggler]; };
  const auto most = std::ranges::max_element(steps, {}, waited);
  ASSERT_GT(inquiry.diagnosis.accounting->ms[1], 0);
  EXPECT_NEAR(waited(*most),
              inquiry.diagnosis.accounting->ms[1] * static_cast<double>(steps.size()), 1e-3);
}

TEST(StepAccounts, WithoutAnAccountThereAreNone) {
  MadeRun made({.step_ms = 100, .steps = 20});
  made.host("a");
  const Inquiry inquiry = inquire(made.data);
  EXPECT_THAT(step_accounts(made.data, kOptions, inquiry), SizeIs(0));
}

}  // namespace
}  // namespace chokepoint::analysis
