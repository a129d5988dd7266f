// A completion queue, and the channel that wakes whoever sleeps for it. It is armed from its
// beginning and again after each wake: what comes between a poll that found nothing and the wait
// after it has left an event, so no wake is ever missed. A wake may find nothing.
//
// One thread.
#pragma once

#include <span>

#include "base/net/patience.h"
#include "rdma/verbs/api.h"
#include "rdma/verbs/endpoint.h"
#include "rdma/verbs/live_parts.h"

namespace chokepoint::rdma::verbs {

class CompletionQueue {
 public:
  static Result<std::unique_ptr<CompletionQueue>> open(const LiveParts& parts, int depth,
                                                       bool events);

  ibv_cq* raw() const { return queue_.get(); }
  int poll(std::span<Completion> into);
  Result<> wait(const net::Patience& patience);

 private:
  CompletionQueue(const LiveParts& parts, Owned<ibv_comp_channel> channel, Owned<ibv_cq> queue);

  Result<> take_event();

  std::shared_ptr<const Api> api_;
  std::string device_;
  Owned<ibv_comp_channel> channel_;  // null: no events
  Owned<ibv_cq> queue_;
};

}  // namespace chokepoint::rdma::verbs
