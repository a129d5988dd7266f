// One side's device, memory and queue pairs while a test lasts, and what its port counts meanwhile.
// A LocalEndpoint owns all of it. The only memory of this host that the peer can reach is the
// endpoint's buffer, until the endpoint is destroyed. One thread.
#pragma once

#include <memory>
#include <string>

#include "base/host/link_query.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "rdma/fabric/counters.h"
#include "rdma/perf/test.h"
#include "rdma/session/negotiate.h"
#include "rdma/session/parameters.h"
#include "rdma/session/port_choice.h"
#include "rdma/session/side.h"
#include "rdma/verbs/buffer.h"
#include "rdma/verbs/cm.h"
#include "rdma/verbs/device.h"

namespace chokepoint::rdma::session {

class LocalEndpoint {
 public:
  static Result<std::unique_ptr<LocalEndpoint>> open(std::unique_ptr<verbs::Library> library,
                                                     const PortChoice& choice,
                                                     verbs::Transport transport);

  const SideFacts& facts() const { return facts_; }

  // Once, with the bytes of the largest round. `operation`: what the peer may do to the memory.
  Result<> provide_memory(std::uint64_t bytes, const Memory& memory, verbs::Operation operation,
                          bool relaxed_ordering);
  std::string memory_text() const { return buffer_->describe(); }

  // New queue pairs for each round, without requests of the one before. Sets the plan's inline size
  // to 0 if the device has none and the user did not ask for it.
  Result<> open_queues(perf::Plan& plan, bool inline_asked);
  void close_queues();
  SideAddresses addresses() const;
  Result<> connect(const SideAddresses& peer, const verbs::PathOptions& path);
  // The same by rdma_cm, which disconnects when the queues are closed; the peer's memory is set
  // apart from it.
  Result<> accept(verbs::CmListener& listener, const verbs::PathOptions& path,
                  const net::Deadline& deadline);
  Result<> connect_by_cm(const verbs::CmPeer& cm_peer, const verbs::PathOptions& path,
                         const net::Deadline& deadline);
  void set_remote(const verbs::RemoteMemory& memory) { remote_ = memory; }

  // `peer`: its name in errors.
  perf::Side side(perf::Role role, perf::TestMonitor& monitor, std::string peer) const;

 private:
  LocalEndpoint(std::unique_ptr<verbs::Library> library, std::unique_ptr<verbs::Device> device,
                PortChoice choice)
      : library_(std::move(library)), device_(std::move(device)), choice_(std::move(choice)) {}

  Result<> read_port();

  std::unique_ptr<verbs::Library> library_;
  std::unique_ptr<verbs::Device> device_;
  PortChoice choice_;
  SideFacts facts_;
  std::unique_ptr<verbs::Buffer> buffer_;
  std::unique_ptr<verbs::Region> region_;
  std::unique_ptr<verbs::Endpoint> endpoint_;
  std::unique_ptr<verbs::CmConnections> connections_;
  verbs::RemoteMemory remote_;
};

// Chooses this host's port by what is read from under the root, and opens it. When it returns, a
// queue pair was made: the device can be used. `control`: the control connection's own address.
Result<std::unique_ptr<LocalEndpoint>> open_here(const sys::Root& root,
                                                 std::unique_ptr<verbs::Library> library,
                                                 const PortRequest& wish,
                                                 const net::Address& control,
                                                 verbs::Transport transport);

// What the port has counted since this was constructed.
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
