// What the two sides of a test send each other about themselves, as values and as message bodies;
// what a peer sends is checked.
//
//   SideFacts      at the set-up: port, GID and what the device can do
//   SideAddresses  for each round: queue pairs and memory
//   CmPeer         for each round by rdma_cm: where the listening side is found
#pragma once

#include <string>

#include "base/control/message.h"
#include "base/net/address.h"
#include "base/sys/error.h"
#include "rdma/verbs/cm.h"
#include "rdma/verbs/device.h"
#include "rdma/verbs/types.h"

namespace chokepoint::rdma::session {

struct SideFacts {
  std::string device = {};
  int port = 1;
  std::string netdev = {};  // empty: none is known
  std::string rate = {};    // as the kernel writes it
  bool ethernet = false;
  int gid_index = 0;
  verbs::Gid gid = {};
  verbs::GidType gid_type = verbs::GidType::InfiniBand;
  std::uint16_t lid = 0;
  int active_mtu_bytes = 0;
  int max_mtu_bytes = 0;
  verbs::DeviceLimits limits = {};
};

// The object of this name in a message, for its own reader; null where there is none.
const control::Json& object_in(const control::Json& message, const char* name);

control::Json body_of(const SideFacts& side);
Result<SideFacts> side_in(const control::Json& body);

// A GID as an IP address: IPv4 if it is an IPv4-mapped one.
net::Address address_of(const verbs::Gid& gid);
verbs::Gid gid_of(const net::Address& address);
std::string text_of(const verbs::Gid& gid);

struct SideAddresses {
  verbs::EndpointAddress endpoint = {};
  verbs::RemoteMemory memory = {};
};

control::Json body_of(const SideAddresses& side);
// An error unless there are exactly `queue_pairs` of them.
Result<SideAddresses> side_addresses_in(const control::Json& body, int queue_pairs);

// The address by which rdma_cm finds a side's port: that of its GID if it is routable, else that of
// the control connection.
net::Address cm_address(const SideFacts& side, const net::Address& control);

control::Json body_of(const verbs::CmPeer& cm_peer);
Result<verbs::CmPeer> cm_peer_in(const control::Json& body);

}  // namespace chokepoint::rdma::session
