// What a preflight measured, judged and shown: at the terminal, as a document, as a page, in a
// record. Writes files; one thread.
#pragma once

#include <optional>
#include <string>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "preflight/judge/limits.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

struct Showing {
  Limits limits = {};
  std::optional<Measured> before = {};
  bool strict = false;
  bool drain_list = false;
  bool all = false;
  std::string output = {};  // the page; empty: none
  std::string keep = {};    // the document; empty: none
  baseline::Flags record = {};
};

// Before anything is measured: whether what is asked for can be written at all. Leaves nothing.
Result<> can_show(const Showing& showing);

// Unreachable where no two hosts could be tested.
Result<cli::ExitCode> show(const Showing& showing, const Measured& measured,
                           const cli::Context& context);

}  // namespace chokepoint::preflight
