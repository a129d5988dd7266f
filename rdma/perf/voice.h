// Posts the messages of a latency test, one at a time. Completions of what was sent are not waited
// for as long as the queue has room: the answer says enough. A template over the endpoint. One
// thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>

#include "rdma/perf/layout.h"
#include "rdma/perf/test.h"
#include "rdma/verbs/endpoint.h"

namespace chokepoint::rdma::perf {

template <class Endpoint>
class PingSender {
 public:
  PingSender(Endpoint& endpoint, const Side& side, const Layout& layout)
      : endpoint_(endpoint),
        peer_(side.peer),
        depth_(std::min<std::size_t>(layout.depth, 32)),
        group_(std::max<std::size_t>(depth_ / 2, 1)),
        ring_(layout.ring),
        last_byte_(side.buffer.host() == nullptr || layout.message_bytes == 0
                       ? nullptr
                       : side.buffer.host() + layout.sources.at(0, 0) + layout.message_bytes - 1) {}

  // Message `number`; its last byte tells it from the ones before it.
  Result<> say(std::uint64_t number) {
    while (outstanding_ >= depth_) {
      if (auto done = reap(); !done) {
        return done;
      }
    }
    if (last_byte_ != nullptr) {
      std::atomic_ref(*last_byte_).store(static_cast<std::byte>(number), std::memory_order_relaxed);
    }
    const bool aloud = ++quiet_ == group_;
    const int code = endpoint_.post_sends(0, number % ring_, 1, aloud);
    if (code != 0) {
      return fail(from_errno(code, "post requests", peer_));
    }
    quiet_ = aloud ? 0 : quiet_;
    ++outstanding_;
    return {};
  }

  // Takes back what completed, or tells what failed.
  Result<> reap() {
    const int count = endpoint_.poll_sends(completions_);
    if (count < 0) {
      return fail(from_errno(-count, "poll completions", peer_));
    }
    for (int i = 0; i < count; ++i) {
      const verbs::Completion& completion = completions_[static_cast<std::size_t>(i)];
      if (completion.status != 0) {
        return fail(verbs::explain(completion, peer_));
      }
      outstanding_ -= group_;
    }
    return {};
  }

 private:
  Endpoint& endpoint_;
  std::string_view peer_;
  std::size_t depth_;
  std::size_t group_;
  std::size_t ring_;
  std::byte* last_byte_;
  std::array<verbs::Completion, 16> completions_;
  std::size_t outstanding_ = 0;
  std::size_t quiet_ = 0;
};

}  // namespace chokepoint::rdma::perf
