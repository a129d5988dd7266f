// The latency of reads and atomics: one side asks, the other's device answers. A sample is the
// whole round trip. A template over the endpoint. One thread, which it blocks.
#pragma once

#include "base/math/histogram.h"
#include "rdma/perf/layout.h"
#include "rdma/perf/monotonic.h"
#include "rdma/perf/sampling.h"
#include "rdma/perf/test.h"
#include "rdma/perf/vigil.h"
#include "rdma/verbs/endpoint.h"

namespace chokepoint::rdma::perf {

template <class Endpoint>
class RoundTrip {
 public:
  RoundTrip(Endpoint& endpoint, const Side& side, const Plan& plan, const Layout& layout)
      : endpoint_(endpoint),
        plan_(plan),
        layout_(layout),
        peer_(side.peer),
        vigil_(side.attention) {}

  Result<Outcome> run() {
    return sample(
        plan_, [this](std::uint64_t number, std::int64_t& before) { return ask(number, before); },
        [](math::Histogram& histogram, std::int64_t round_trip) {
          histogram.add(static_cast<std::uint64_t>(round_trip));
        },
        [] {});
  }

 private:
  static constexpr int kSpins = 256;
  static constexpr std::chrono::milliseconds kSleep{2};

  // False: told to end. What asking for attention takes is no part of a sample, which begins at
  // `before`.
  Result<bool> ask(std::uint64_t number, std::int64_t& before) {
    if (StopPoller::due(number)) {
      auto go_on = vigil_.at(monotonic_ns());
      if (!go_on || !*go_on) {
        return go_on;
      }
      before = monotonic_ns();
    }
    const std::size_t place = number % layout_.ring;
    if (const int code = endpoint_.post_sends(0, place, 1, true); code != 0) {
      return fail(from_errno(code, "post requests", peer_));
    }
    int count = poll();
    while (count == 0) {
      auto go_on = vigil_.at(monotonic_ns());
      if (!go_on || vigil_.stopped()) {
        return go_on;
      }
      if (plan_.events) {
        (void)endpoint_.wait_sends(net::Patience::of(kSleep));
      }
      count = poll();
    }
    if (count < 0) {
      return fail(from_errno(-count, "poll completions", peer_));
    }
    return completion_.status == 0 ? Result<bool>(true) : fail(verbs::explain(completion_, peer_));
  }

  int poll() {
    int count = 0;
    for (int i = 0; count == 0 && i < (plan_.events ? 1 : kSpins); ++i) {
      count = endpoint_.poll_sends(std::span(&completion_, 1));
    }
    return count;
  }

  Endpoint& endpoint_;
  const Plan& plan_;
  const Layout& layout_;
  std::string_view peer_;
  StopPoller vigil_;
  verbs::Completion completion_ = {};
};

}  // namespace chokepoint::rdma::perf
