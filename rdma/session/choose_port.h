// Which device, port and GID of a host reach the peer: those that belong to the address which the
// control connection has here, unless the user says otherwise. Pure functions over facts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/host/rdma.h"
#include "base/net/address.h"
#include "base/sys/error.h"
#include "rdma/session/port_wish.h"

namespace chokepoint::rdma::session {

// This host's end of the control connection.
struct ControlEnd {
  net::Address address = {};
  std::string netdev = {};  // empty: not known
};

struct PortChoice {
  std::string device = {};
  int port = 1;
  int gid_index = 0;
  std::string netdev = {};
  std::string rate = {};  // of a card, in the kernel's words
  std::optional<int> numa_node = {};
};

Result<PortChoice> choose_port(const std::vector<host::RdmaDevice>& devices, const PortWish& wish,
                               const ControlEnd& control);

}  // namespace chokepoint::rdma::session
