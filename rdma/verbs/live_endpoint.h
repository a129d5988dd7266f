// The endpoint over libibverbs. This header includes none of infiniband's, so that loops that
// are measured can call it directly (visit_endpoint).
//
// Owns its queue pairs and both completion queues; the device it was opened on outlives it. One
// thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rdma/verbs/endpoint.h"
#include "rdma/verbs/types.h"

// NOLINTBEGIN(readability-identifier-naming): libibverbs names them.
struct ibv_context;
struct ibv_pd;
// NOLINTEND(readability-identifier-naming)

namespace chokepoint::rdma::verbs {

struct Api;
class CompletionQueue;
class QueuePair;

// What an endpoint needs of the device that it is opened on, and that outlives it.
struct LiveParts {
  std::shared_ptr<const Api> api;
  std::string device;
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  DeviceLimits limits = {};
  Port port = {};
  Gid gid = {};
};

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

  // For connecting by rdma_cm (cm.cc).
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

// Calls `loop` with the endpoint's own type: LiveEndpoint is final, so that a loop instantiated for
// it makes no virtual call. Any other, such as a test's, is called through the interface.
template <class Loop>
auto visit_endpoint(Endpoint& endpoint, Loop&& loop) {
  if (auto* live = dynamic_cast<LiveEndpoint*>(&endpoint)) {
    return std::forward<Loop>(loop)(*live);
  }
  return std::forward<Loop>(loop)(endpoint);
}

}  // namespace chokepoint::rdma::verbs
