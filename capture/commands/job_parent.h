// The process that is a job's parent: starts the watch and the job, passes on what comes to it, and
// prints at the end what the watch found.
//
//   prepare: watch and relays are forked ─▶ the job starts ─▶ accompany ─▶ it has ended: finish
//      └─ whatever fails or throws: the job starts without them
//             └─ not even a child can be made: this process becomes the job
//
// One thread. What it may wait for, and how long, is listed in docs/internals/run-job.md.
#pragma once

#include <chrono>
#include <exception>
#include <new>
#include <ostream>
#include <string>
#include <vector>

#include "base/cli/command.h"
#include "base/cli/context.h"
#include "base/sys/error.h"
#include "capture/job/process.h"
#include "capture/live/follow_up.h"
#include "capture/run/options.h"

namespace chokepoint::capture {

struct Accompanied {
  run::Options options = {};
  std::chrono::nanoseconds live_every{0};  // 0: no live line
  bool watches_output = true;
  bool may_become_job = true;  // nothing is to be done after it
  live::FollowUp follow_up = {};
};

// The same context, but for its streams.
cli::Context with_streams(const cli::Context& context, std::ostream& out, std::ostream& err);

// Starts the command; its exit code. Sets the folder that was chosen.
Result<cli::ExitCode> accompany_command(Accompanied& wanted, const cli::Context& context);

// Processes that run already.
Result<cli::ExitCode> accompany_running(const Accompanied& wanted, const job::Selection& selection,
                                        const cli::Context& context);

// Where nothing could be made ready: this process becomes the command. Returns why it did not.
Error not_accompanied(const cli::Context& context, const std::vector<std::string>& command,
                      const Error& why);

// An exception is an error like others: nothing may prevent the job from its start.
template <class Work>
auto without_exceptions(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return fail(from_errno(ENOMEM, "watch the job", ""));
  } catch (const std::exception& error) {
    return fail(ErrorKind::Io, "watch the job", "", error.what());
  }
}

}  // namespace chokepoint::capture
