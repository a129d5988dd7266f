// The queues of an endpoint over libibverbs, which owns them: two completion queues and its queue
// pairs. All of them belong to the endpoint's one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/net/deadline.h"
#include "rdma/verbs/api.h"
#include "rdma/verbs/endpoint.h"

namespace chokepoint::rdma::verbs {

// A completion queue, and the channel that wakes who sleeps for it. It is armed when it is made and
// again after each wake: a completion between an empty poll and the wait after it has left an
// event, so that no wake is missed. A wake may find nothing.
class CompletionQueue {
 public:
  static Result<std::unique_ptr<CompletionQueue>> open(const EndpointParts& parts, int depth,
                                                       bool events);

  ibv_cq* raw() const { return queue_.get(); }
  int poll(std::span<Completion> into);
  Result<> wait(const net::Deadline& deadline);

 private:
  CompletionQueue(const EndpointParts& parts, Owned<ibv_comp_channel> channel, Owned<ibv_cq> queue);

  Result<> take_event();

  std::shared_ptr<const Api> api_;
  std::string device_;
  Owned<ibv_comp_channel> channel_;  // null: no events
  Owned<ibv_cq> queue_;
};

// One queue pair with its rings: requests laid out once, in libibverbs' format, each with its
// place. A post links some of them to a chain. Owns the address handle of its peer, too (UD).
class QueuePair {
 public:
  // The queues that take completions.
  struct Completions {
    ibv_cq* sends = nullptr;
    ibv_cq* receives = nullptr;
  };

  // In state INIT.
  static Result<std::unique_ptr<QueuePair>> open(const EndpointParts& parts,
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
  QueuePair(const EndpointParts& parts, const EndpointOptions& options, int index,
            Owned<ibv_qp> pair);

  Result<> initialise();
  Result<> make_handle(const EndpointAddress& peer, const PathOptions& path);
  ibv_ah_attr route_to(const EndpointAddress& peer, const PathOptions& path) const;
  Result<> ready_to_receive(const EndpointAddress& peer, const QueueAddress& queue,
                            const PathOptions& path);
  Result<> ready_to_send(const PathOptions& path);
  Result<> can_carry(const SendRequest& request) const;
  ibv_send_wr raw_request(const SendRequest& request, std::size_t place);

  const EndpointParts& parts_;  // the endpoint's
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

// For attributes of a queue pair that are bytes: clamped to what fits.
inline std::uint8_t byte_of(int value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0, 255));
}

// A request's number (wr_id), which its completion has too: its queue pair and its place in that
// one's ring.
constexpr std::uint64_t request_number(int queue, std::size_t place) {
  return static_cast<std::uint64_t>(queue) << 32U | place;
}
constexpr int queue_of(std::uint64_t number) { return static_cast<int>(number >> 32U); }
constexpr std::uint32_t place_of(std::uint64_t number) {
  return static_cast<std::uint32_t>(number);
}

}  // namespace chokepoint::rdma::verbs
