// An operation of NCCL in the words of the run record.
//
// When did this rank come to it? In this order: when its kernel began on the GPU, if that is told;
// when the network's first step had data of the own GPU, if that does not depend on others' data.
// Where neither is known it stays unknown, and the row begins when the network's part did, as NCCL
// is asked for a collective long before the GPU comes to it; or, of one that stayed inside the
// host, when the program asked for it.
//
// One process's operations, in the order in which they were asked for. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "base/record/samples.h"
#include "capture/nccl/gpu_clock.h"
#include "capture/nccl/operation.h"

namespace chokepoint::capture::nccl {

// The same number on all of a communicator's ranks, of 23 bits, and none of those that Gloo's
// groups have.
std::int64_t communicator_number(std::uint64_t hash);

// The row as what looks for steps is to see it: at one moment that is known of all of them alike.
// When a collective began is only told for a share of the time.
record::Collective beat_of(record::Collective row);

class Rows {
 public:
  // `rank` is the job's; nothing: the communicator's is as good as any.
  record::Collective row_of(const Operation& operation, const Membership* member,
                            const GpuClock& clock, std::optional<std::int64_t> rank);

 private:
  using Pair = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // communicator, from, to

  void name(record::Collective& row, const Operation& operation, const Membership* member);
  std::int64_t next_between(std::int64_t communicator, std::int64_t from, std::int64_t to);

  std::map<std::uint16_t, std::int64_t> ended_ns_;  // the last collective of each communicator
  std::map<Pair, std::int64_t> messages_;           // so far, of each two ranks
};

}  // namespace chokepoint::capture::nccl
