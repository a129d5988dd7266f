// The commands that watch traffic and jobs: each is one source of the same name. What `capture`
// prints at its end is in findings.cc (the page) and capture_document.cc (JSON); what is shown
// while `capture` and `run` work is in progress.cc.
#pragma once

#include "base/cli/command.h"

namespace chokepoint::capture {

cli::CommandFactory capture_command();
cli::CommandFactory run_command();
cli::CommandFactory mark_command();

}  // namespace chokepoint::capture
