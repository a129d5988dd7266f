// What a side posts: as many requests on each queue pair as its depth allows, in turn; every so
// many complete aloud, and each of these completions gives back as many. A phase (warm-up, test)
// ends with a request that completes aloud.
//
// A template over the endpoint: a request costs no virtual call, no allocation, no clock. What goes
// wrong is kept, as loops ask for it only now and then. One thread.
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
class Sender {
 public:
  // `verifier`: null without check.
  Sender(Endpoint& endpoint, const Layout& layout, std::string_view peer, Verifier* verifier)
      : endpoint_(endpoint),
        layout_(layout),
        peer_(peer),
        verifier_(verifier),
        queues_(static_cast<std::size_t>(layout.queues)) {}

  // A phase of so many requests on each queue pair.
  void begin(std::uint64_t requests) {
    until_ = requests;
    sent_ = completed_ = 0;
    for (Queue& queue : queues_) {
      queue.base += queue.sent;
      queue.sent = queue.completed = 0;
      queue.aloud = layout_.group;
      queue.place = verifier_ == nullptr ? 0 : queue.place;
    }
  }

  // Ends the phase as soon as each queue pair has as many as the foremost.
  void finish() {
    std::uint64_t most = 0;
    for (const Queue& queue : queues_) {
      most = std::max(most, queue.sent);
    }
    until_ = std::min(until_, (most + layout_.group - 1) / layout_.group * layout_.group);
  }

  // No more than so many on each queue pair for now.
  void allow(std::uint64_t requests) { allowed_ = requests; }
  bool held_back() const { return sent_ >= allowed_ * queues_.size(); }
  bool done() const { return completed_ >= until_ * queues_.size(); }
  bool idle() const { return completed_ == sent_; }
  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t completed() const { return completed_; }

  // Whether anything was posted.
  bool post() {
    const std::uint64_t before = sent_;
    const std::uint64_t most = std::min(until_, allowed_);
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      Queue& queue = queues_[i];
      while (queue.sent < most && queue.sent + layout_.batch <= layout_.depth + queue.completed) {
        if (!post(queue, static_cast<int>(i))) {
          return false;
        }
      }
    }
    return sent_ != before;
  }

  // Whether anything had completed.
  bool collect() {
    const int count = endpoint_.poll_sends(completions_);
    if (count < 0) {
      error_ = from_errno(-count, "poll completions", peer_);
      return false;
    }
    for (int i = 0; i < count; ++i) {
      credit(completions_[static_cast<std::size_t>(i)]);
    }
    return count > 0;
  }

 private:
  struct Queue {
    std::uint64_t sent = 0;
    std::uint64_t completed = 0;
    std::uint64_t aloud = 0;  // when so many are sent, the last completes aloud
    std::size_t place = 0;
    std::uint64_t base = 0;  // sent in earlier phases
  };

  bool post(Queue& queue, int index) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(layout_.batch, until_ - queue.sent));
    if (verifier_ != nullptr && !prepare(queue, index)) {
      return false;
    }
    const std::uint64_t after = queue.sent + count;
    const bool aloud = after == queue.aloud || after == until_;
    if (const int code = endpoint_.post_sends(index, queue.place, count, aloud); code != 0) {
      error_ = from_errno(code, "post requests", peer_);
      return false;
    }
    queue.aloud += after == queue.aloud ? layout_.group : 0;
    queue.sent = after;
    sent_ += count;
    queue.place += count;
    queue.place = queue.place >= layout_.ring ? 0 : queue.place;
    return true;
  }

  void credit(const verbs::Completion& completion) {
    if (completion.status != 0) {
      if (!error_) {
        error_ = verbs::explain(completion, peer_);
      }
      return;
    }
    Queue& queue = queues_[static_cast<std::size_t>(completion.queue)];
    const std::uint64_t count = std::min(layout_.group, until_ - queue.completed);
    if (verifier_ != nullptr) {
      verify(queue, completion.queue, count);
    }
    queue.completed += count;
    completed_ += count;
  }

  bool keep(Result<> done) {
    if (!done && !error_) {
      error_ = std::move(done.error());
    }
    return !error_;
  }

  bool prepare(const Queue& queue, int index) {
    return keep(
        verifier_->before(queue.place, {.queue = index, .sequence = queue.base + queue.sent}));
  }

  void verify(const Queue& queue, int index, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t sequence = queue.base + queue.completed + i;
      keep(verifier_->after(sequence % layout_.ring, {.queue = index, .sequence = sequence}));
    }
  }

  Endpoint& endpoint_;
  const Layout& layout_;
  std::string_view peer_;
  Verifier* verifier_;
  std::vector<Queue> queues_;
  std::array<verbs::Completion, 16> completions_;
  std::uint64_t until_ = 0;
  std::uint64_t allowed_ = UINT64_MAX;
  std::uint64_t sent_ = 0;
  std::uint64_t completed_ = 0;
  std::optional<Error> error_;
};

}  // namespace chokepoint::rdma::perf
