// One task while an agent is at it. One thread.
#pragma once

#include <optional>
#include <vector>

#include "base/control/message.h"
#include "base/sys/error.h"

namespace chokepoint::preflight {

class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  // Ends it, with all that it started.
  virtual ~Job() = default;

  // Readable when there may be news. Without any it is looked at again soon.
  virtual std::vector<int> watched() const = 0;
  // The document, once it is done; an error where it came to nothing.
  virtual Result<std::optional<control::Json>> look() = 0;
};

}  // namespace chokepoint::preflight
