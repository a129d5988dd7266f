// One side of a test as the other is told of it: its port, its GID and what its device can do. A
// value.
#pragma once

#include <string>

#include "base/control/message.h"
#include "base/net/address.h"
#include "base/sys/error.h"
#include "rdma/verbs/device.h"
#include "rdma/verbs/types.h"

namespace chokepoint::rdma::session {

struct SideFacts {
  std::string device = {};
  int port = 1;
  std::string netdev = {};  // empty: none is known
  std::string rate = {};    // as the kernel words it
  bool ethernet = false;
  int gid_index = 0;
  verbs::Gid gid = {};
  verbs::GidType gid_type = verbs::GidType::InfiniBand;
  std::uint16_t lid = 0;
  int active_mtu_bytes = 0;
  int max_mtu_bytes = 0;
  verbs::DeviceLimits limits = {};
};

control::Json body_of(const SideFacts& side);
Result<SideFacts> side_in(const control::Json& body);

// A GID as the address that it is: IPv4 where it holds such a one.
net::Address address_of(const verbs::Gid& gid);
verbs::Gid gid_of(const net::Address& address);
std::string text_of(const verbs::Gid& gid);

}  // namespace chokepoint::rdma::session
