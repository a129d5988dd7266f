// One side's device, memory and queue pairs for as long as a test lasts. That the device can be
// used is known once open() returns: it has made a queue pair. Owns all of it; what a peer can
// reach of this host's memory is the one buffer in here, and it goes with the station. One thread.
#pragma once

#include <memory>
#include <string>

#include "base/sys/error.h"
#include "rdma/memory/buffer.h"
#include "rdma/perf/test.h"
#include "rdma/session/addresses.h"
#include "rdma/session/choose_port.h"
#include "rdma/session/negotiate.h"
#include "rdma/session/parameters.h"
#include "rdma/session/side.h"
#include "rdma/verbs/cm.h"
#include "rdma/verbs/device.h"

namespace chokepoint::rdma::session {

class Station {
 public:
  static Result<std::unique_ptr<Station>> open(std::unique_ptr<verbs::Library> library,
                                               const PortChoice& choice,
                                               verbs::Transport transport);

  const SideFacts& facts() const { return facts_; }

  // Once, for the largest round.
  // `operation`: what the peer may do to it.
  Result<> provide_memory(std::uint64_t bytes, const Memory& memory, verbs::Operation operation,
                          bool relaxed_ordering);
  std::string memory_text() const { return buffer_->describe(); }

  // Fresh ones for each round: what one has posted and left over is nothing to the next one.
  // Takes the plan's inline size back where the device has none and the user did not ask for it.
  Result<> open_queues(perf::Plan& plan, bool inline_asked);
  void close_queues();
  Whereabouts whereabouts() const;
  Result<> connect(const Whereabouts& peer, const verbs::PathOptions& path);
  // The same by rdma_cm, which says goodbye when the queues are closed; the peer's memory is made
  // known apart from it.
  Result<> accept(verbs::CmListener& listener, const verbs::PathOptions& path,
                  const net::Patience& patience);
  Result<> knock(const verbs::CmPeer& door, const verbs::PathOptions& path,
                 const net::Patience& patience);
  void reach(const verbs::RemoteMemory& memory) { remote_ = memory; }

  // `peer`: as errors call it.
  perf::Side side(perf::Role role, perf::Attention& attention, std::string peer) const;

 private:
  Station(std::unique_ptr<verbs::Library> library, std::unique_ptr<verbs::Device> device,
          PortChoice choice)
      : library_(std::move(library)), device_(std::move(device)), choice_(std::move(choice)) {}

  Result<> look_at_port();
  Result<> keep(Result<std::unique_ptr<verbs::CmConnections>> connections);

  std::unique_ptr<verbs::Library> library_;
  std::unique_ptr<verbs::Device> device_;
  PortChoice choice_;
  SideFacts facts_;
  std::unique_ptr<memory::Buffer> buffer_;
  std::unique_ptr<verbs::Region> region_;
  std::unique_ptr<verbs::Endpoint> endpoint_;
  std::unique_ptr<verbs::CmConnections> connections_;
  verbs::RemoteMemory remote_;
};

}  // namespace chokepoint::rdma::session
