// How a side of a latency test notices that message `number` is there: by the last byte of what the
// peer writes, or by a completion. Templates over the endpoint. One thread.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "rdma/perf/layout.h"
#include "rdma/perf/receiver.h"
#include "rdma/perf/test.h"
#include "rdma/verbs/endpoint.h"

namespace chokepoint::rdma::perf {

// For memory that the processor sees change.
class MemoryEar {
 public:
  MemoryEar(const Side& side, const Layout& layout)
      : last_byte_(side.buffer.host() + layout.targets.at(0, 0) + layout.message_bytes - 1) {}

  bool heard(std::uint64_t number) {
    return std::atomic_ref(*last_byte_).load(std::memory_order_acquire) ==
           static_cast<std::byte>(number);
  }
  void sleep(std::chrono::nanoseconds /*most*/) {}
  Result<> state() const { return {}; }

 private:
  std::byte* last_byte_;
};

template <class Endpoint>
class MessageEar {
 public:
  MessageEar(Endpoint& endpoint, const Side& side, const Plan& plan, const Layout& layout)
      : endpoint_(endpoint), peer_(side.peer), events_(plan.events), layout_(layout) {
    const bool may_repeat = plan.transport != verbs::Transport::Rc;
    immediate_ = may_repeat && plan.operation == verbs::Operation::WriteImmediate;
    if (may_repeat && !immediate_ && side.buffer.host() != nullptr && layout.message_bytes > 0) {
      last_byte_ = side.buffer.host() + layout.receives.at(0, 0) + layout.header_bytes +
                   layout.message_bytes - 1;
    }
  }

  bool heard(std::uint64_t number) {
    const int count = endpoint_.poll_receives(std::span(&completion_, 1));
    if (count == 0) {
      return false;
    }
    if (count < 0) {
      error_ = from_errno(-count, "poll completions", peer_);
      return false;
    }
    const bool right = is(number);
    return take() && right;
  }

  void sleep(std::chrono::nanoseconds most) {
    if (events_) {
      (void)endpoint_.wait_receives(net::Patience::of(most));
    }
  }
  Result<> state() const { return error_ ? fail(*error_) : Result<>{}; }

 private:
  // A message that was sent again may come twice.
  bool is(std::uint64_t number) const {
    if (immediate_) {
      return completion_.immediate == number % layout_.ring;
    }
    return last_byte_ == nullptr || *last_byte_ == static_cast<std::byte>(number);
  }

  bool take() {
    if (completion_.status != 0) {
      error_ = error_ ? error_ : verbs::explain(completion_, peer_);
      return false;
    }
    if (const int code = endpoint_.post_receives(0, place_, 1); code != 0) {
      error_ = from_errno(code, "post receives", peer_);
      return false;
    }
    place_ = place_ + 1 == layout_.receive_ring ? 0 : place_ + 1;
    return true;
  }

  Endpoint& endpoint_;
  std::string_view peer_;
  bool events_;
  const Layout& layout_;
  bool immediate_ = false;
  const std::byte* last_byte_ = nullptr;
  verbs::Completion completion_ = {};
  std::size_t place_ = 0;
  std::optional<Error> error_;
};

}  // namespace chokepoint::rdma::perf
