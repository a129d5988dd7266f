// Was the fabric clean during a test? One sentence from what both ends counted, and what to do.
// Pure functions.
//
//   lost       packets were retransmitted because they did not arrive
//   late       packets were retransmitted though none was missing: an answer came too late (a busy
//              host) or was lost
//   not ready  packets arrived, and the receiver had no receive posted for them
//   congested  marks, notifications or pauses: slowed down, nothing lost
//   reordered  packets overtook one another, none was retransmitted: several paths are in use
//   clean      none of that, as far as it is counted
//   unknown    neither end has the counters that show it
//
// A port's counters include all its users: losses of other jobs are included.
#pragma once

#include <string>
#include <string_view>

#include "base/documents/rdma.h"
#include "rdma/fabric/counters.h"

namespace chokepoint::rdma::fabric {

using Status = documents::FabricStatus;
using Judgement = documents::FabricJudgement;

Judgement judge(const Changes& own, const Changes& peer);

using chokepoint::name_of;

}  // namespace chokepoint::rdma::fabric
