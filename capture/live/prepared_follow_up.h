// A child process that does the work after the end of a process in a sandbox, which cannot start
// programs: forked before the sandbox, and before the process has threads.
#pragma once

#include <string>
#include <utility>

#include "base/cli/context.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "capture/live/follow_up.h"

namespace chokepoint::capture::live {

// Ends with the process that made it.
class PreparedFollowUp {
 public:
  static Result<PreparedFollowUp> fork(const cli::Context& context, const std::string& folder,
                                       const FollowUp& wanted);

  // Returns once it has ended, also where `interrupt` became readable.
  void run(int interrupt);

 private:
  PreparedFollowUp(sys::Pipe begin, sys::Descriptor end)
      : begin_(std::move(begin)), end_(std::move(end)) {}

  // A byte begins it; without a writer it is interrupted. The other end stays open, too, so that
  // writing raises no SIGPIPE where it has been killed.
  sys::Pipe begin_;
  sys::Descriptor end_;  // readable once it has ended
};

}  // namespace chokepoint::capture::live
