// What a side receives: counted, held against the pattern where that was asked for, and its place
// posted again, many at a time. A template over the endpoint, as Sender is. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "rdma/perf/layout.h"
#include "rdma/perf/test.h"
#include "rdma/perf/verifier.h"
#include "rdma/verbs/endpoint.h"

namespace chokepoint::rdma::perf {

template <class Endpoint>
class Receiver {
 public:
  Receiver(Endpoint& endpoint, const Layout& layout, std::string_view peer, Verifier* verifier)
      : endpoint_(endpoint),
        layout_(layout),
        peer_(peer),
        verifier_(verifier),
        refill_(std::clamp<std::size_t>(layout.receive_ring / 4, 1, 64)),
        queues_(static_cast<std::size_t>(layout.queues)) {}

  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }
  std::uint64_t received() const { return received_; }

  // Whether anything had come.
  bool collect() {
    const int count = endpoint_.poll_receives(completions_);
    if (count < 0) {
      error_ = from_errno(-count, "poll completions", peer_);
      return false;
    }
    for (int i = 0; i < count; ++i) {
      take(completions_[static_cast<std::size_t>(i)]);
    }
    return count > 0;
  }

 private:
  struct Queue {
    std::size_t used = 0;   // receives to be posted again
    std::size_t place = 0;  // from here on
  };

  void take(const verbs::Completion& completion) {
    if (completion.status != 0) {
      error_ = error_ ? error_ : verbs::explain(completion, peer_);
      return;
    }
    if (verifier_ != nullptr) {
      if (auto done = verifier_->received(completion); !done) {
        error_ = std::move(done.error());
        return;
      }
    }
    ++received_;
    Queue& queue = queues_[static_cast<std::size_t>(completion.queue)];
    if (++queue.used >= refill_) {
      refill(queue, completion.queue);
    }
  }

  void refill(Queue& queue, int index) {
    while (queue.used > 0) {
      const std::size_t count = std::min(queue.used, layout_.receive_ring - queue.place);
      if (const int code = endpoint_.post_receives(index, queue.place, count); code != 0) {
        error_ = from_errno(code, "post receives", peer_);
        return;
      }
      queue.place = (queue.place + count) % layout_.receive_ring;
      queue.used -= count;
    }
  }

  Endpoint& endpoint_;
  const Layout& layout_;
  std::string_view peer_;
  Verifier* verifier_;
  std::size_t refill_;
  std::vector<Queue> queues_;
  std::array<verbs::Completion, 16> completions_;
  std::uint64_t received_ = 0;
  std::optional<Error> error_;
};

}  // namespace chokepoint::rdma::perf
