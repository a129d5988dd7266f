// Which tests confirm the verdict of a run, by the rows of attribution/tests.def: each with the
// host that runs it, the addresses that the job used, a bound of its rate and time, and what the
// job itself reached, to which the result is compared. They run after the job, or beside it where
// every node's `run` allowed that. Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/attribution/confirmation.h"
#include "analysis/attribution/diagnose.h"
#include "base/sys/error.h"

namespace chokepoint::analysis::confirm {

struct PlanOptions {
  // Of nodes whose server is reached elsewhere than at the address that the job used: HOST[:PORT].
  std::map<std::string, std::string> servers = {};
  double most_mbps = 0;     // of each test; 0: no limit beyond the plan's own
  bool beside_job = false;  // short tests, and those alone that show something while the job runs
};

// Empty where no test can show anything. `inquiry` is of this run.
std::vector<PlannedTest> plan_of(const RunData& run, const Inquiry& inquiry,
                                 const PlanOptions& options = {});

// The share of its time and traffic, in percent, that every node of a running job gives to tests;
// an Error that names a node which gives none.
Result<double> allowed_percent(const RunData& run);

// Payload that the job sent between its nodes so far, as far as their records show.
double bytes_sent(const RunData& run, const Clocks& clocks);

// Whether most of the job's data went over a path with at least this unloaded round trip.
bool is_wide_area(const RunData& run, const Clocks& clocks, double wan_rtt_ms);

// What is typed behind "chokepoint".
std::vector<std::string> words_of(const PlannedTest& test);

}  // namespace chokepoint::analysis::confirm
