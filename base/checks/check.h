// One judgement about this host: what was found, what it should be, why that matters and the exact
// command that fixes it. doctor, preflight and rdma devices
// print them. Values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/output.h"

namespace chokepoint::checks {

// From good to bad: the verdict over many checks is the worst of them. Unknown stands below
// Warning, because what could not be seen is no finding.
enum class Status { Pass, Info, Unknown, Warning, Critical };

std::string_view name_of(Status status);  // "PASS" …

struct Check {
  std::string id = {};  // "nic.mtu": stable, documented in docs/doctor.md
  Status status = Status::Pass;
  std::string subject = {};  // "eth0"; "host" for the host itself
  std::string found = {};    // "1500"; empty where nothing could be read
  std::string wanted = {};   // "9000"; empty where nothing is asked for
  std::string why = {};
  std::string next_step = {};  // a command where there is one; empty where nothing is to be done
};

using Checks = std::vector<Check>;

Status worst(const Checks& checks);

// How checks look, to people and to programs.

cli::Json json_of(const Check& check);
cli::Json json_of(const Checks& checks);

// What is wrong, the worst first, with the reason and what to do; the rest in a line each. With
// `all` every finding in full, and what passed.
void print_page(const cli::Context& context, const Checks& checks, bool all);

// Checks in one line, for a reason that a scheduler shows and a script passes on. Pure functions.

// "nic.speed eth0: 1000 Mb/s, wanted 10000 Mb/s"
std::string brief(const Check& check);

// Those that are as bad as this or worse, the worst first and no more than a line holds; empty
// where there are none.
std::string summary(const Checks& checks, Status least);

}  // namespace chokepoint::checks
