// What runs already and is watched from now on, a process or a cgroup: whether it is there and ours
// to watch, and when it is over. One thread.
#pragma once

#include <memory>
#include <string>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/job/selection.h"

namespace chokepoint::capture::job {

class Attached {
 public:
  // The root outlives it. Errors are for people: no such process, another user's, no such cgroup,
  // nobody in it.
  static Result<std::unique_ptr<Attached>> attach(const Selection& selection,
                                                  const sys::Root& root);
  virtual ~Attached() = default;

  // Readable once it is over; -1 where only is_over() tells.
  virtual int descriptor() const = 0;
  // Cheap: to be asked some times a second.
  virtual bool is_over() = 0;
};

}  // namespace chokepoint::capture::job
