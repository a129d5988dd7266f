// Was the fabric clean during a test? One sentence from what both ends counted, and what to do.
// Pure.
//
//   lost       something was sent again because it did not arrive
//   late       something was sent again though nobody missed anything: an answer came too late, as
//              those of a busy host do, or was lost
//   not ready  it arrived, and the receiver had no receive posted for it
//   congested  marks, notifications or pauses: slowed down, nothing lost
//   reordered  packets overtook one another, none was sent again: several paths are in use
//   clean      none of that, as far as it is counted
//   unknown    neither end counts what would tell
//
// Ports count for everybody who uses them: another job's losses are told here, too.
#pragma once

#include <string>
#include <string_view>

#include "rdma/fabric/changes.h"

namespace chokepoint::rdma::fabric {

enum class Status { Clean, Reordered, Congested, NotReady, Late, Lost, Unknown };

std::string_view name_of(Status status);  // "clean", "not-ready"

struct Judgement {
  Status status = Status::Unknown;
  std::string sentence = {};   // "the fabric was clean: no retransmission, …"
  std::string next_step = {};  // empty where nothing is to be done
};

Judgement judge(const Changes& own, const Changes& peer);

}  // namespace chokepoint::rdma::fabric
