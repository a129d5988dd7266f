// Which device, port and GID of a host a test uses: what the user wishes, and else those that
// belong to the address which the control connection has on this host. Of the port's GIDs the one
// is chosen that reaches the peer: RoCE v2 rather than v1, then the control connection's own
// address, then not link-local, then of its family. Values and pure functions over facts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/host/rdma.h"
#include "base/net/address.h"
#include "base/sys/error.h"
#include "rdma/verbs/types.h"

namespace chokepoint::rdma::session {

// An optional that a message carries as the value's name, or as an empty text (not null) if it is
// left open.
template <class E>
struct Choice : std::optional<E> {
  using std::optional<E>::optional;
  Choice(const std::optional<E>& value) : std::optional<E>(value) {}
};

// nullopt and empty: chosen.
struct PortRequest {
  std::string device = {};
  std::optional<int> port = {};
  std::optional<int> gid_index = {};
  Choice<net::Family> family = {};
  Choice<verbs::GidType> type = {};
};

// This host's end of the control connection.
struct ControlEnd {
  net::Address address = {};
  std::string netdev = {};  // empty: unknown
};

struct PortChoice {
  std::string device = {};
  int port = 1;
  int gid_index = 0;
  std::string netdev = {};
  std::string rate = {};  // of a card, as the kernel writes it
  std::optional<int> numa_node = {};
};

Result<PortChoice> choose_port(const std::vector<host::RdmaDevice>& devices,
                               const PortRequest& wish, const ControlEnd& control);

}  // namespace chokepoint::rdma::session
