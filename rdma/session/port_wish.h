// Which port and GID of a host a test shall use; what is left open is chosen (choose_port.h). A
// value.
#pragma once

#include <optional>
#include <string>

#include "base/control/message.h"
#include "base/net/address.h"
#include "base/sys/error.h"
#include "rdma/verbs/types.h"

namespace chokepoint::rdma::session {

struct PortWish {
  std::string device = {};
  std::optional<int> port = {};
  std::optional<int> gid_index = {};
  std::optional<net::Family> family = {};
  std::optional<verbs::GidType> type = {};
};

control::Json body_of(const PortWish& wish);
Result<PortWish> port_wish_in(const control::Json& body);

}  // namespace chokepoint::rdma::session
