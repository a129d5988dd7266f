// What 'chokepoint run' prints once the job has ended: the verdict, if the records in the folder
// suffice for one, and the next command; with --diagnose and --report the whole page. Each is made
// by this same program in a process of its own, so that a failure or its use of memory does not
// affect the process that passes the job's exit status on. The command's thread.
#pragma once

#include <unistd.h>

#include <string>

#include "base/cli/context.h"
#include "base/net/deadline.h"

namespace chokepoint::capture::live {

struct FollowUp {
  bool diagnoses = false;
  bool reports = false;
  std::string history = {};  // to which the run's figures are added; empty: none
  int out = STDERR_FILENO;   // where these print: standard output is the job's

  // Without a deadline, since the user wants it.
  bool is_unbounded() const { return diagnoses || reports; }
};

// Ends with the deadline, but for what the user wants: that only its interrupt ends, at once.
void follow_up(const cli::Context& context, const std::string& folder, const FollowUp& wanted,
               const net::Deadline& deadline);

// Before the job starts: doctor on this host and, from the first process of a Slurm job, preflight
// of its hosts. False where something critical was found.
bool check_before(const cli::Context& context);

}  // namespace chokepoint::capture::live
