// Gloo's kinds in the words of the run record. Pure.
#pragma once

#include "base/record/samples.h"
#include "capture/gloo/message.h"

namespace chokepoint::capture::gloo {

// send() and receive() are the same message: `is_sent` says which one this node did.
inline record::CollectiveKind kind_in_record(Kind kind, bool is_sent) {
  switch (kind) {
    case Kind::Gather:
      return record::CollectiveKind::Gather;
    case Kind::AllGather:
      return record::CollectiveKind::AllGather;
    case Kind::Reduce:
      return record::CollectiveKind::Reduce;
    case Kind::AllReduce:
      return record::CollectiveKind::AllReduce;
    case Kind::Scatter:
      return record::CollectiveKind::Scatter;
    case Kind::Broadcast:
      return record::CollectiveKind::Broadcast;
    case Kind::Barrier:
      return record::CollectiveKind::Barrier;
    case Kind::AllToAll:
      return record::CollectiveKind::AllToAll;
    case Kind::PointToPoint:
      return is_sent ? record::CollectiveKind::Send : record::CollectiveKind::Receive;
    case Kind::Unknown:
      break;
  }
  return record::CollectiveKind::Unknown;
}

}  // namespace chokepoint::capture::gloo
