// One queue pair of an endpoint with its rings: requests laid out once, as the library takes them,
// each knowing its place. A post links some of them to a chain and unlinks its end again.
//
// Owns the queue pair, and over UD the address handle of its peer. One thread.
#pragma once

#include <span>
#include <vector>

#include "rdma/verbs/api.h"
#include "rdma/verbs/endpoint.h"
#include "rdma/verbs/live_parts.h"

namespace chokepoint::rdma::verbs {

class QueuePair {
 public:
  // Where completions go.
  struct Completions {
    ibv_cq* sends = nullptr;
    ibv_cq* receives = nullptr;
  };

  // Made and ready to receive requests (INIT).
  static Result<std::unique_ptr<QueuePair>> open(const LiveParts& parts,
                                                 const EndpointOptions& options, int index,
                                                 const Completions& completions);

  ibv_qp* raw() const { return pair_.get(); }
  const QueueAddress& address() const { return address_; }

  Result<> connect(const EndpointAddress& peer, const QueueAddress& queue, const PathOptions& path);
  Result<> modify(ibv_qp_attr& attributes, unsigned mask, std::string_view operation);

  Result<> lay_out_sends(std::span<const SendRequest> ring);
  Result<> lay_out_receives(std::span<const LocalMemory> ring);
  int post_sends(std::size_t first, std::size_t count, bool signal);
  int post_receives(std::size_t first, std::size_t count);

 private:
  QueuePair(const LiveParts& parts, const EndpointOptions& options, int index, Owned<ibv_qp> pair);

  Result<> initialise();
  Result<> make_handle(const EndpointAddress& peer, const PathOptions& path);
  ibv_ah_attr route_to(const EndpointAddress& peer, const PathOptions& path) const;
  Result<> ready_to_receive(const EndpointAddress& peer, const QueueAddress& queue,
                            const PathOptions& path);
  Result<> ready_to_send(const PathOptions& path);
  Result<> can_carry(const SendRequest& request) const;
  ibv_send_wr laid_out(const SendRequest& request, std::size_t place);

  const LiveParts& parts_;  // the endpoint's
  const EndpointOptions& options_;
  int index_;
  Owned<ibv_qp> pair_;
  Owned<ibv_ah> handle_;  // UD
  QueueAddress address_;
  QueueAddress peer_ = {};
  std::vector<ibv_send_wr> sends_;
  std::vector<ibv_sge> send_memory_;
  std::vector<ibv_recv_wr> receives_;
  std::vector<ibv_sge> receive_memory_;
};

}  // namespace chokepoint::rdma::verbs
