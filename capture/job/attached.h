// Processes that run already, and whether they may be watched.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/job/process.h"

namespace chokepoint::capture::job {

// A process or a cgroup that runs already and is watched from now on: whether it exists and may be
// watched, and when it is over. One thread.

class Attached {
 public:
  // The root outlives it. Errors are for users: no such process, one that may not be looked at, no
  // such cgroup, an empty one.
  static Result<std::unique_ptr<Attached>> attach(const Selection& selection,
                                                  const sys::Root& root);
  virtual ~Attached() = default;

  // Readable once it is over; -1 if only is_over() can tell.
  virtual int descriptor() const = 0;
  // Cheap: to be called some times a second.
  virtual bool is_over() = 0;
};

// Whether the kernel lets this program see what a process has open and which network it is in: who
// it belongs to, what rights it has, whether it may be dumped (ptrace(2), "access mode checking").
// A function; any thread.

// Why not, and what helps; nullopt where it does, or there is no such process.
std::optional<Error> hidden_because(pid_t pid, const sys::Root& root);

}  // namespace chokepoint::capture::job
