// This host's side of a test: its ports and the address that the control connection has here, read
// from under the root, and the device opened that belongs to it.
#pragma once

#include <memory>

#include "base/host/link_query.h"
#include "base/sys/root.h"
#include "rdma/fabric/changes.h"
#include "rdma/session/station.h"

namespace chokepoint::rdma::session {

Result<std::unique_ptr<Station>> open_here(const sys::Root& root,
                                           std::unique_ptr<verbs::Library> library,
                                           const PortWish& wish, const net::Address& control,
                                           verbs::Transport transport);

// What the port counts between its making and a call of changes().
class FabricWatch {
 public:
  FabricWatch(const sys::Root& root, const SideFacts& side);
  fabric::Changes changes() const;

 private:
  fabric::PortCounters read() const;

  sys::Root root_;
  std::string device_;
  int port_;
  std::unique_ptr<host::LinkQuery> links_;
  fabric::PortCounters before_;
};

}  // namespace chokepoint::rdma::session
