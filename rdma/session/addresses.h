// What one side of a round tells the other so that queue pairs and memory find each other, as
// message bodies. Values.
#pragma once

#include "base/control/message.h"
#include "base/sys/error.h"
#include "rdma/verbs/types.h"

namespace chokepoint::rdma::session {

struct Whereabouts {
  verbs::EndpointAddress endpoint = {};
  verbs::RemoteMemory memory = {};
};

control::Json body_of(const Whereabouts& side);
// With exactly as many queue pairs as agreed.
Result<Whereabouts> whereabouts_in(const control::Json& body, int queue_pairs);

}  // namespace chokepoint::rdma::session
