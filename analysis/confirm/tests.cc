#include "analysis/confirm/tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace chokepoint::analysis::confirm {

namespace {

constexpr std::array kTests{
#define CONFIRM_TEST(enumerator, name_, task_, seconds_, loads_, text_) \
  TestDescription{.task = (task_), .seconds = (seconds_), .loads = (loads_), .text = (text_)},
#include "analysis/attribution/tests.def"
};

constexpr std::array kRules{
#define RULE(enumerator, for_, against_, beside_job_) \
  RuleDescription{                                    \
      .text_for = (for_), .text_against = (against_), .beside_job = Support::beside_job_},
#include "analysis/attribution/tests.def"
};

constexpr std::array kChecks{
#define CHECK(class_, cause_, test_, rule_, role_) \
  Check{.verdict = VerdictClass::class_,           \
        .cause = Cause::cause_,                    \
        .test = TestKind::test_,                   \
        .rule = TestRule::rule_,                   \
        .role = TestRole::role_},
#include "analysis/attribution/tests.def"
};

}  // namespace

const TestDescription& describe(TestKind kind) { return kTests.at(static_cast<std::size_t>(kind)); }

const RuleDescription& describe(TestRule rule) { return kRules.at(static_cast<std::size_t>(rule)); }

std::span<const Check> check_table() { return kChecks; }

std::string_view words_of(TestRole role) {
  switch (role) {
    case TestRole::Shows:
      return "shows it";
    case TestRole::Excludes:
      return "excludes others";
    case TestRole::Refutes:
      return "can only refute it";
    case TestRole::Context:
      break;
  }
  return "";
}

std::string text_of(const Check& check) {
  const RuleDescription& rule = describe(check.rule);
  std::string text = describe(check.test).text;
  const auto add = [&](std::string_view support, std::string_view when) {
    text += when.empty() ? "" : fmt::format("; {}: {}", support, when);
  };
  if (check.role != TestRole::Refutes) {
    add(words_of(check.role), rule.text_for);
  }
  add("against it", rule.text_against);
  return check.rule == TestRule::Beside ? text + "; shown beside the others" : text;
}

std::vector<Check> checks_of(VerdictClass verdict, Cause cause) {
  const auto rows = [&](Cause of) {
    std::vector<Check> found;
    std::ranges::copy_if(kChecks, std::back_inserter(found), [&](const Check& check) {
      return check.verdict == verdict && check.cause == of;
    });
    return found;
  };
  std::vector<Check> own = rows(cause);
  return own.empty() ? rows(Cause::None) : own;
}

}  // namespace chokepoint::analysis::confirm
