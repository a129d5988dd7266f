// The time between a job's start and its end: waits for whatever comes, passes it to whom it
// concerns, and says how it goes. One thread, the command's.
#pragma once

#include <optional>

#include "base/cli/context.h"
#include "base/sys/process.h"
#include "capture/commands/live_notes.h"
#include "capture/job/attached.h"
#include "capture/job/job.h"
#include "capture/run/watch.h"

namespace chokepoint::capture {

// Until the command has ended; how.
Result<sys::ExitStatus> accompany(job::Job& job, run::Watch& watch, LiveNotes& notes,
                                  const cli::Context& context);

// Until the processes have ended, or the user wants no more: then false.
bool accompany(job::Attached& attached, run::Watch& watch, LiveNotes& notes,
               const cli::Context& context, int interrupt);

}  // namespace chokepoint::capture
