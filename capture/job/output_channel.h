// What stands between the job and one of our outputs: a pipe, or, where ours is a terminal, a
// terminal of the job's own that passes every byte untouched. Where our two outputs are the same
// file the job's are, too, so that they stay in order.
#pragma once

#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "capture/job/output.h"

namespace chokepoint::capture::job {

struct OutputChannel {
  Stream stream = Stream::Out;
  int destination = -1;    // our own output
  bool is_shared = false;  // both of the job's outputs go here
  bool is_terminal = false;
  sys::Descriptor job_end = {};
  sys::Descriptor relay_end = {};
};

// One for each of our outputs that the job would have inherited; none for one that is closed.
Result<std::vector<OutputChannel>> open_output_channels();

// Gives the terminal at `to` the size of the one at `from`; whether it had another one before.
bool copy_size(int from, int to);

}  // namespace chokepoint::capture::job
