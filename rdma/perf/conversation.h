// A latency test by turns: the active side says a message and waits for its answer, the passive one
// answers. Over UC and UD a message may be lost: each side says its last one again after a while,
// and the other takes no message twice. A template over the endpoint and how it hears. One thread,
// which it blocks.
#pragma once

#include "base/math/histogram.h"
#include "rdma/perf/monotonic.h"
#include "rdma/perf/sampling.h"
#include "rdma/perf/test.h"
#include "rdma/perf/vigil.h"
#include "rdma/perf/voice.h"

namespace chokepoint::rdma::perf {

template <class Endpoint, class PongReceiver>
class Conversation {
 public:
  Conversation(Endpoint& endpoint, const Side& side, const Plan& plan, const Layout& layout,
               PongReceiver ear)
      : plan_(plan),
        voice_(endpoint, side, layout),
        ear_(std::move(ear)),
        vigil_(side.attention),
        repeats_(plan.transport != verbs::Transport::Rc) {}

  // Each sample is half of a round trip.
  Result<Outcome> ping() {
    std::uint64_t resent = 0;
    Result<Outcome> outcome = sample(
        plan_,
        [&](std::uint64_t number, std::int64_t& before) {
          resent = resent_;
          return exchange(number, before);
        },
        [&](math::Histogram& histogram, std::int64_t round_trip) {
          record(histogram, round_trip, resent);
        },
        [&] { resent_ = 0; });
    if (outcome) {
      outcome->resent = resent_;
    }
    return outcome;
  }

  Result<Outcome> pong() {
    Outcome outcome;
    // A last answer that was lost would be asked for again: then only the other side knows the end.
    const std::uint64_t all =
        !repeats_ && plan_.iterations ? plan_.warm_up + *plan_.iterations : UINT64_MAX;
    for (std::uint64_t number = 1; number <= all; ++number) {
      auto heard = wait_for(number, number - 1, kAnswerLost);
      if (heard && *heard) {
        outcome.messages += number > plan_.warm_up ? 1 : 0;
        TRY(voice_.say(number));
        continue;
      }
      if (!heard) {
        return fail(std::move(heard.error()));
      }
      break;
    }
    outcome.resent = resent_;
    return outcome;
  }

 private:
  static constexpr int kSpins = 256;
  static constexpr std::int64_t kLost = 100 * kMillisecond;
  // Later: a sample is left out for what the side that measures has said again.
  static constexpr std::int64_t kAnswerLost = 120 * kMillisecond;
  static constexpr std::chrono::milliseconds kSleep{2};

  // What asking for attention takes is no part of a sample, which begins at `before`.
  Result<bool> exchange(std::uint64_t number, std::int64_t& before) {
    if (StopPoller::due(number)) {
      auto go_on = look(monotonic_ns());
      if (!go_on || !*go_on) {
        return go_on;
      }
      before = monotonic_ns();
    }
    TRY(voice_.say(number));
    return wait_for(number, number, kLost);
  }

  bool listen(std::uint64_t number) {
    if (!plan_.events) {
      for (int i = 0; i < kSpins; ++i) {
        if (ear_.heard(number)) {
          return true;
        }
      }
      return false;
    }
    if (ear_.heard(number)) {
      return true;
    }
    ear_.sleep(kSleep);
    return ear_.heard(number);
  }

  // False: told to end. Meanwhile `last` is said again if nothing comes for so long; 0: nothing was
  // said yet.
  Result<bool> wait_for(std::uint64_t number, std::uint64_t last, std::int64_t patience) {
    if (!StopPoller::due(number) && listen(number)) {
      return true;
    }
    std::int64_t again = monotonic_ns() + patience;
    for (;;) {
      const std::int64_t now = monotonic_ns();
      auto go_on = look(now);
      if (!go_on || !*go_on) {
        return go_on;
      }
      if (repeats_ && last > 0 && now >= again) {
        TRY(voice_.say(last));
        ++resent_;
        again = now + patience;
      }
      if (listen(number)) {
        return true;
      }
    }
  }

  Result<bool> look(std::int64_t now) {
    // A request that failed takes the receives with it: what failed first is told first.
    TRY(voice_.reap());
    TRY(ear_.state());
    return vigil_.at(now);
  }

  // How long this program waits before it says something again is nothing about the network.
  void record(math::Histogram& histogram, std::int64_t round_trip, std::uint64_t resent_before) {
    if (resent_ == resent_before) {
      histogram.add(static_cast<std::uint64_t>(round_trip) / 2);
    }
  }

  const Plan& plan_;
  PingSender<Endpoint> voice_;
  PongReceiver ear_;
  StopPoller vigil_;
  bool repeats_;
  std::uint64_t resent_ = 0;
};

}  // namespace chokepoint::rdma::perf
