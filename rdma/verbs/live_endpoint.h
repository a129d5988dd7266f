// The endpoint over libibverbs. Its header is free of infiniband's, so that loops that are measured
// can call it directly (visit.h).
//
// Owns its queue pairs and both completion queues; the device it was opened on outlives it. One
// thread.
#pragma once

#include <memory>
#include <vector>

#include "rdma/verbs/endpoint.h"
#include "rdma/verbs/live_parts.h"

namespace chokepoint::rdma::verbs {

class CompletionQueue;
class QueuePair;

class LiveEndpoint final : public Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> open(LiveParts parts, const EndpointOptions& options);
  ~LiveEndpoint() override;

  const EndpointAddress& address() const override { return address_; }
  Result<> connect(const EndpointAddress& peer, const PathOptions& path) override;

  Result<> lay_out_sends(int queue, std::span<const SendRequest> ring) override;
  Result<> lay_out_receives(int queue, std::span<const LocalMemory> ring) override;

  int post_sends(int queue, std::size_t first, std::size_t count, bool signal) override;
  int post_receives(int queue, std::size_t first, std::size_t count) override;
  int poll_sends(std::span<Completion> into) override;
  int poll_receives(std::span<Completion> into) override;

  Result<> wait_sends(const net::Patience& patience) override;
  Result<> wait_receives(const net::Patience& patience) override;

  // For those that connect queue pairs in another way.
  const LiveParts& parts() const { return parts_; }
  const EndpointOptions& options() const { return options_; }
  std::vector<std::unique_ptr<QueuePair>>& queues() { return queues_; }

 private:
  LiveEndpoint(LiveParts parts, const EndpointOptions& options);

  Result<> make_queues();

  LiveParts parts_;
  EndpointOptions options_;
  EndpointAddress address_;
  std::unique_ptr<CompletionQueue> sends_;
  std::unique_ptr<CompletionQueue> receives_;
  std::vector<std::unique_ptr<QueuePair>> queues_;
};

}  // namespace chokepoint::rdma::verbs
