// A process or a cgroup that runs already and is watched from now on: whether it exists and may be
// watched, and when it is over. One thread.
#pragma once

#include <sys/types.h>

#include <memory>

#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/job/process.h"

namespace chokepoint::capture::job {

class Attached {
 public:
  // The root outlives it. Errors are for users: no such process, one whose /proc may not be read,
  // no such cgroup, an empty one.
  static Result<std::unique_ptr<Attached>> attach(const Selection& selection,
                                                  const sys::Root& root);
  virtual ~Attached() = default;

  // Readable once it is over; -1 if only is_over() shows it.
  virtual int descriptor() const = 0;
  // Cheap: to be called some times a second.
  virtual bool is_over() = 0;
};

}  // namespace chokepoint::capture::job
