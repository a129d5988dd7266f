#include "rdma/verbs/live_endpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "rdma/verbs/queues.h"

namespace chokepoint::rdma::verbs {
namespace {

Result<std::unique_ptr<CompletionQueue>> queue_for(const LiveParts& parts,
                                                   const EndpointOptions& options, int depth) {
  return CompletionQueue::open(parts, std::max(1, options.queues * depth), options.events);
}

}  // namespace

LiveEndpoint::LiveEndpoint(LiveParts parts, const EndpointOptions& options)
    : parts_(std::move(parts)),
      options_(options),
      address_{.lid = parts_.port.lid, .gid = parts_.gid} {}

LiveEndpoint::~LiveEndpoint() = default;

Result<std::unique_ptr<Endpoint>> LiveEndpoint::open(LiveParts parts,
                                                     const EndpointOptions& options) {
  std::unique_ptr<LiveEndpoint> endpoint(new LiveEndpoint(std::move(parts), options));
  TRY(endpoint->make_queues());
  return endpoint;
}

Result<> LiveEndpoint::make_queues() {
  TRY(auto sends, queue_for(parts_, options_, options_.send_depth));
  sends_ = std::move(sends);
  TRY(auto receives, queue_for(parts_, options_, options_.receive_depth));
  receives_ = std::move(receives);
  for (int index = 0; index < options_.queues; ++index) {
    TRY(auto queue, QueuePair::open(parts_, options_, index,
                                    {.sends = sends_->raw(), .receives = receives_->raw()}));
    address_.queues.push_back((queue)->address());
    queues_.push_back(std::move(queue));
  }
  return {};
}

Result<> LiveEndpoint::connect(const EndpointAddress& peer, const PathOptions& path) {
  if (peer.queues.size() != queues_.size()) {
    return fail(ErrorKind::Malformed, "connect", parts_.device,
                fmt::format("the peer has {} queue pairs, this side {}", peer.queues.size(),
                            queues_.size()));
  }
  for (std::size_t index = 0; index < queues_.size(); ++index) {
    TRY(queues_[index]->connect(peer, peer.queues[index], path));
  }
  return {};
}

Result<> LiveEndpoint::lay_out_sends(int queue, std::span<const SendRequest> ring) {
  return queues_.at(static_cast<std::size_t>(queue))->lay_out_sends(ring);
}

Result<> LiveEndpoint::lay_out_receives(int queue, std::span<const LocalMemory> ring) {
  return queues_.at(static_cast<std::size_t>(queue))->lay_out_receives(ring);
}

int LiveEndpoint::post_sends(int queue, std::size_t first, std::size_t count, bool signal) {
  return queues_[static_cast<std::size_t>(queue)]->post_sends(first, count, signal);
}

int LiveEndpoint::post_receives(int queue, std::size_t first, std::size_t count) {
  return queues_[static_cast<std::size_t>(queue)]->post_receives(first, count);
}

int LiveEndpoint::poll_sends(std::span<Completion> into) { return sends_->poll(into); }

int LiveEndpoint::poll_receives(std::span<Completion> into) { return receives_->poll(into); }

Result<> LiveEndpoint::wait_sends(const net::Patience& patience) { return sends_->wait(patience); }

Result<> LiveEndpoint::wait_receives(const net::Patience& patience) {
  return receives_->wait(patience);
}

}  // namespace chokepoint::rdma::verbs
