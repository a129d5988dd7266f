// The rows of attribution/tests.def: which tests there are, by which rule each is judged, and what
// it counts for in a verdict. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/confirmation.h"
#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis::confirm {

struct TestDescription {
  const char* task = "";
  double seconds = 0;
  bool loads = false;
  const char* text = "";
};
const TestDescription& describe(TestKind kind);

struct RuleDescription {
  const char* text_for = "";
  const char* text_against = "";
  Support beside_job = Support::Nothing;  // what it can show while the job runs
};
const RuleDescription& describe(TestRule rule);

// Of a test in a verdict; the head of tests.def explains what each counts for.
enum class TestRole : std::uint8_t { Context, Shows, Excludes, Refutes };

struct Check {
  VerdictClass verdict = VerdictClass::Unknown;
  Cause cause = Cause::None;
  TestKind test = TestKind::Throughput;
  TestRule rule = TestRule::Beside;
  TestRole role = TestRole::Context;
};
std::span<const Check> check_table();

// "shows it", "excludes others", "can only refute it"; empty: it counts for nothing by itself.
std::string_view words_of(TestRole role);

// "probe tcp over the path in question; shows it: …; against it: …"
std::string text_of(const Check& check);

// The rows for a cause, or those of its class where it has none of its own.
std::vector<Check> checks_of(VerdictClass verdict, Cause cause);

}  // namespace chokepoint::analysis::confirm
