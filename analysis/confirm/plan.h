// Which tests confirm the verdict of a run, by the rows of attribution/tests.def: each with the
// host that runs it, the addresses that the job used, a bound of its rate and time, and what the
// job itself reached, which the result is held against. Pure; any thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/attribution/confirmation.h"
#include "analysis/attribution/diagnose.h"

namespace chokepoint::analysis::confirm {

struct PlanOptions {
  // Of nodes whose server is reached elsewhere than at the address that the job used: HOST[:PORT].
  std::map<std::string, std::string> servers = {};
  double most_mbps = 0;  // of each test; 0: no limit beyond the plan's own
};

// Empty where no test can tell. `inquiry` is of this run.
std::vector<PlannedTest> plan_of(const RunData& run, const Inquiry& inquiry,
                                 const PlanOptions& options = {});

// Whether most of the job's data went over a path with at least this unloaded round trip.
bool is_wide_area(const RunData& run, const Clocks& clocks, double wan_rtt_ms);

// What is typed behind "chokepoint".
std::vector<std::string> words_of(const PlannedTest& test);

struct TestDescription {
  const char* task = "";
  double seconds = 0;
  bool loads = false;
  const char* text = "";
};
const TestDescription& describe(TestKind kind);

struct RuleDescription {
  const char* says_for = "";
  const char* says_against = "";
};
const RuleDescription& describe(TestRule rule);

struct Check {
  VerdictClass verdict = VerdictClass::Unknown;
  Cause cause = Cause::None;
  TestKind test = TestKind::Throughput;
  TestRule rule = TestRule::Beside;
};
std::span<const Check> check_table();

// "probe tcp over the path in question: for it if …; against it if …"
std::string text_of(const Check& check);

// The rows for a cause, or those of its class where it has none of its own.
std::vector<Check> checks_of(VerdictClass verdict, Cause cause);

}  // namespace chokepoint::analysis::confirm
