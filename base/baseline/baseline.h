// Keeps what a probe found in a run record, beside the facts about this host: what a later
// diagnosis compares a job with. Opens the record, adds a session, closes it; blocks on the disk.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/cli/command.h"
#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/cli/output.h"
#include "base/host/fact.h"

namespace chokepoint::baseline {

struct Flags {
  std::string folder = {};  // empty: nothing is kept
  std::string node = {};    // empty: the host's name
};

void define(cli::Flags& flags, Flags& baseline);

struct Finding {
  std::string kind = {};  // "doctor", "tcp"
  std::string peer = {};
  std::string direction = {};
  cli::Json document = {};
  std::optional<host::Facts> facts = {};  // nothing: keep() reads them
};

// The member of a document that tells how the hosts were set up: {"own": …, "peer": …}.
inline constexpr const char* kHostFacts = "host_facts";

// Does nothing where no folder was asked for.
// Before a test that takes long: that there is a place for its result.
Result<> check(const Flags& baseline);
Result<> keep(const Flags& baseline, const Finding& finding, const cli::Context& context);

// The end of a probe: prints the finding's document, or the page without --json, and keeps it. The
// document gets the facts about this host, beside those that ask_peer() put there.
Result<cli::ExitCode> answer(const cli::Context& context, const Flags& baseline, Finding finding,
                             bool interrupted, const std::function<void()>& print_page);

}  // namespace chokepoint::baseline
