// A run as rows of a history: how long its steps took and what they lost, and what each host did of
// a step. Pure; any thread.
#pragma once

#include <string>

#include "analysis/attribution/diagnosis.h"
#include "analysis/load/run_data.h"
#include "base/history/row.h"

namespace chokepoint::analysis {

struct RunToRemember {
  const RunData& run;
  const Diagnosis& diagnosis;
  std::string folder = {};
  std::string program = {};  // that recorded it
  std::int64_t began_wall_ns = 0;
};

// What is the same of every repetition of a job: its command without folders and numbers that
// differ from run to run, and how many ranks it has on how many hosts.
std::string job_name_of(const RunData& run, const Diagnosis& diagnosis);

// The job's own row comes of the node of rank 0, so that each of its nodes may add what it knows.
history::Batch rows_of(const RunToRemember& remembered);

}  // namespace chokepoint::analysis
