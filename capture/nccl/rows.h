// An operation of NCCL as a row of the run record.
//
// A rank is ready when its kernel began on the GPU, if that is known; else when the network's first
// step had data of the own GPU, if that does not depend on others' data. If neither is known, the
// row's own_ready_ns stays unknown, and the row begins when the network's part did, as NCCL is
// enqueues a collective long before the GPU comes to it; or, if it stayed inside the host, when
// the program enqueued it.
//
// The Reader owns one Rows per process, and calls it by its one thread.
#pragma once

#include <cstdint>
#include <map>

#include "base/record/samples.h"
#include "capture/nccl/assembly.h"

namespace chokepoint::capture::nccl {

// The same number on all of a communicator's ranks: 23 bits, the highest set, so that it differs
// from those of Gloo's groups.
std::int64_t communicator_number(std::uint64_t hash);

// The row for the search for steps: reduced to one moment that is known of every collective, as
// when it began is reported for a share of the time only (plugin/clocks.h, Window).
record::Collective beat_of(record::Collective row);

// What is known of a collective as soon as it was enqueued.
record::Collective enqueued_row(const Operation& operation, const Membership& member);

class Rows {
 public:
  // For one process, in the order in which operations were enqueued. `rank` is the job's; nullopt:
  // the row gets the communicator's.
  record::Collective row_of(const Operation& operation, const Membership* member,
                            const GpuClock& clock, std::optional<std::int64_t> rank);

 private:
  std::map<std::uint16_t, std::int64_t> ended_ns_;  // the last collective of each communicator
};

}  // namespace chokepoint::capture::nccl
