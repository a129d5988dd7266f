// The job's outputs made ready to be watched: the relays run, and wait for the job. A relay keeps
// the memory that this process has when it is forked, so this is best done before there is much of
// it (a record, the rings of packet captures) and before any thread. Dropped without a job, it
// takes the relays along. Moves; one thread.
#pragma once

#include <vector>

#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "base/sys/process.h"
#include "capture/job/output_channel.h"
#include "capture/job/relay.h"

namespace chokepoint::capture::job {

class OutputWatch {
 public:
  OutputWatch() = default;  // nothing is watched
  // Nothing is watched either where an output is a terminal and there is none to be had for the
  // job. The clock outlives the relays' parent.
  static Result<OutputWatch> open(const sys::Clock& clock);

  void connect(sys::Spawn& spawn) const;
  // Once the job has started, or failed to: it alone holds its ends from now on.
  std::vector<Relay> release();

 private:
  std::vector<OutputChannel> channels_;
  std::vector<Relay> relays_;
};

}  // namespace chokepoint::capture::job
