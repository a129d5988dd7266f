// Where a side that listens by rdma_cm is found, as it tells the other one over the control
// connection. Values.
#pragma once

#include "base/control/message.h"
#include "base/net/address.h"
#include "base/sys/error.h"
#include "rdma/session/side.h"
#include "rdma/verbs/cm.h"

namespace chokepoint::rdma::session {

// The address by which rdma_cm finds a side's port: that of its GID where it is one that routes,
// else that of the control connection.
net::Address cm_address(const SideFacts& side, const net::Address& control);

control::Json body_of(const verbs::CmPeer& door);
Result<verbs::CmPeer> door_in(const control::Json& body);

}  // namespace chokepoint::rdma::session
