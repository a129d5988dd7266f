// Calls what is measured with the endpoint as what it is: the real one is final, so that a loop
// instantiated for it pays for no virtual call. Any other, such as a test's, is called through the
// interface.
#pragma once

#include <utility>

#include "rdma/verbs/endpoint.h"
#include "rdma/verbs/live_endpoint.h"

namespace chokepoint::rdma::verbs {

template <class Loop>
auto visit_endpoint(Endpoint& endpoint, Loop&& loop) {
  if (auto* live = dynamic_cast<LiveEndpoint*>(&endpoint)) {
    return std::forward<Loop>(loop)(*live);
  }
  return std::forward<Loop>(loop)(endpoint);
}

}  // namespace chokepoint::rdma::verbs
