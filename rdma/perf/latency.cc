// The loops of a latency test, one for each side. They block the one thread that they run on.
#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include "base/math/histogram.h"
#include "rdma/perf/loops.h"
#include "rdma/perf/plan.h"
#include "rdma/perf/test.h"
#include "rdma/verbs/endpoint.h"

namespace chokepoint::rdma::perf {
namespace {

using verbs::Operation;

// How a side notices that message `number` arrived: by the last byte of what the peer writes, in
// memory that the processor reaches …
class WriteDetector {
 public:
  WriteDetector(const Side& side, const Layout& layout)
      : last_byte_(side.buffer.host() + layout.targets.at(0, 0) + layout.message_bytes - 1) {}

  bool arrived(std::uint64_t number) {
    return std::atomic_ref(*last_byte_).load(std::memory_order_acquire) ==
           static_cast<std::byte>(number);
  }
  void sleep(std::chrono::nanoseconds /*at_most*/) {}
  Result<> state() const { return {}; }

 private:
  std::byte* last_byte_;
};

// … or by a completion.
class CompletionDetector {
 public:
  CompletionDetector(const Side& side, const Plan& plan, const Layout& layout)
      : endpoint_(side.endpoint), peer_(side.peer), events_(plan.events), layout_(layout) {
    const bool may_repeat = plan.transport != verbs::Transport::Rc;
    immediate_ = may_repeat && plan.operation == verbs::Operation::WriteImmediate;
    if (may_repeat && !immediate_ && side.buffer.host() != nullptr && layout.message_bytes > 0) {
      last_byte_ = side.buffer.host() + layout.receives.at(0, 0) + layout.header_bytes +
                   layout.message_bytes - 1;
    }
  }

  bool arrived(std::uint64_t number) {
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

  void sleep(std::chrono::nanoseconds at_most) {
    if (events_) {
      (void)endpoint_.wait_receives(net::Deadline::of(at_most));
    }
  }
  Result<> state() const { return error_ ? fail(*error_) : Result<>{}; }

 private:
  // A retransmitted message may arrive twice.
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

  verbs::Endpoint& endpoint_;
  std::string_view peer_;
  bool events_;
  const Layout& layout_;
  bool immediate_ = false;
  const std::byte* last_byte_ = nullptr;
  verbs::Completion completion_ = {};
  std::size_t place_ = 0;
  std::optional<Error> error_;
};

// Posts messages, one at a time. Waits for completions only while the queue is full: the answer
// shows that the message arrived.
class PingSender {
 public:
  PingSender(const Side& side, const Layout& layout)
      : endpoint_(side.endpoint),
        peer_(side.peer),
        depth_(std::min<std::size_t>(layout.depth, 32)),
        group_(std::max<std::size_t>(depth_ / 2, 1)),
        ring_(layout.ring),
        last_byte_(side.buffer.host() == nullptr || layout.message_bytes == 0
                       ? nullptr
                       : side.buffer.host() + layout.sources.at(0, 0) + layout.message_bytes - 1) {}

  // The last byte of message `number` differs from that of the one before it.
  Result<> send(std::uint64_t number) {
    while (outstanding_ >= depth_) {
      TRY(reap());
    }
    if (last_byte_ != nullptr) {
      std::atomic_ref(*last_byte_).store(static_cast<std::byte>(number), std::memory_order_relaxed);
    }
    const bool signal = ++unsignaled_ == group_;
    const int code = endpoint_.post_sends(0, number % ring_, 1, signal);
    if (code != 0) {
      return fail(from_errno(code, "post requests", peer_));
    }
    unsignaled_ = signal ? 0 : unsignaled_;
    ++outstanding_;
    return {};
  }

  // Counts what completed; an error where a request failed.
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
  verbs::Endpoint& endpoint_;
  std::string_view peer_;
  std::size_t depth_;
  std::size_t group_;
  std::size_t ring_;
  std::byte* last_byte_;
  std::array<verbs::Completion, 16> completions_;
  std::size_t outstanding_ = 0;
  std::size_t unsignaled_ = 0;
};

// Exchanges, one after another: a warm-up, then samples until there are enough or the time is over.
// Inlined into the loop that is measured.
//   exchange(number, before)       one exchange that began at `before`, which it may move on;
//   false:
//                                  the test has to end
//   keep(histogram, round_trip)    takes a sample
//   warm()                         called between warm-up and test
template <class Exchange, class Keep, class Warm>
Result<Outcome> sample(const Plan& plan, Exchange exchange, Keep keep, Warm warm) {
  Outcome outcome{.latency_ns = math::Histogram{}};
  std::int64_t start = monotonic_ns();
  std::int64_t before = start;
  std::int64_t end = plan.warm_up == 0 && plan.time ? start + plan.time->count() : kNever;
  const std::uint64_t all = plan.warm_up + plan.iterations.value_or(UINT64_MAX / 2);
  for (std::uint64_t number = 1; number <= all && before < end; ++number) {
    TRY(const bool came, exchange(number, before));
    if (!came) {
      break;
    }
    const std::int64_t now = monotonic_ns();
    if (number > plan.warm_up) {
      ++outcome.messages;
      keep(*outcome.latency_ns, now - before);
    } else if (number == plan.warm_up) {
      start = now;
      end = plan.time ? now + plan.time->count() : kNever;
      warm();
    }
    before = now;
  }
  outcome.duration_ns = outcome.messages > 0 ? before - start : 0;
  return outcome;
}

// Messages by turns: the active side sends one and waits for its answer, the passive side answers.
// Over UC and UD a message may be lost: each side retransmits its last one after a while, and the
// other ignores a message that it has already.
template <class Detector>
class PingPong {
 public:
  PingPong(const Side& side, const Plan& plan, const Layout& layout, Detector detector)
      : plan_(plan),
        sender_(side, layout),
        detector_(std::move(detector)),
        stop_(side.monitor),
        may_lose_(plan.transport != verbs::Transport::Rc) {}

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
    // If the last answer may be lost, the other side asks again: then only it knows the end.
    const std::uint64_t all =
        !may_lose_ && plan_.iterations ? plan_.warm_up + *plan_.iterations : UINT64_MAX;
    for (std::uint64_t number = 1; number <= all; ++number) {
      auto arrived = wait_for(number, number - 1, kRetransmitPong);
      if (arrived && *arrived) {
        outcome.messages += number > plan_.warm_up ? 1 : 0;
        TRY(sender_.send(number));
        continue;
      }
      if (!arrived) {
        return fail(std::move(arrived.error()));
      }
      break;
    }
    outcome.resent = resent_;
    return outcome;
  }

 private:
  static constexpr int kSpins = 256;
  static constexpr std::int64_t kRetransmitPing = 100 * kMillisecond;
  // Later than the ping: the side that measures leaves a sample out only for its own
  // retransmission.
  static constexpr std::int64_t kRetransmitPong = 120 * kMillisecond;
  static constexpr std::chrono::milliseconds kSleep{2};

  // The time it takes to ask whether to go on is no part of a sample, which begins at `before`.
  Result<bool> exchange(std::uint64_t number, std::int64_t& before) {
    if (StopPoller::due(number)) {
      auto go_on = look(monotonic_ns());
      if (!go_on || !*go_on) {
        return go_on;
      }
      before = monotonic_ns();
    }
    TRY(sender_.send(number));
    return wait_for(number, number, kRetransmitPing);
  }

  bool listen(std::uint64_t number) {
    if (!plan_.events) {
      for (int i = 0; i < kSpins; ++i) {
        if (detector_.arrived(number)) {
          return true;
        }
      }
      return false;
    }
    if (detector_.arrived(number)) {
      return true;
    }
    detector_.sleep(kSleep);
    return detector_.arrived(number);
  }

  // False: the test has to end. Message `last` is retransmitted whenever nothing came for
  // `deadline`; 0: none was sent yet.
  Result<bool> wait_for(std::uint64_t number, std::uint64_t last, std::int64_t deadline) {
    if (!StopPoller::due(number) && listen(number)) {
      return true;
    }
    std::int64_t again = monotonic_ns() + deadline;
    for (;;) {
      const std::int64_t now = monotonic_ns();
      auto go_on = look(now);
      if (!go_on || !*go_on) {
        return go_on;
      }
      if (may_lose_ && last > 0 && now >= again) {
        TRY(sender_.send(last));
        ++resent_;
        again = now + deadline;
      }
      if (listen(number)) {
        return true;
      }
    }
  }

  Result<bool> look(std::int64_t now) {
    // A request that failed takes the receives with it: what failed first is reported.
    TRY(sender_.reap());
    TRY(detector_.state());
    return stop_.go_on_at(now);
  }

  // How long this program waits before it retransmits shows nothing of the network.
  void record(math::Histogram& histogram, std::int64_t round_trip, std::uint64_t resent_before) {
    if (resent_ == resent_before) {
      histogram.add(static_cast<std::uint64_t>(round_trip) / 2);
    }
  }

  const Plan& plan_;
  PingSender sender_;
  Detector detector_;
  StopPoller stop_;
  bool may_lose_;
  std::uint64_t resent_ = 0;
};

// Reads and atomics: one side asks, the other's device answers. A sample is the whole round trip.
class RoundTrip {
 public:
  RoundTrip(const Side& side, const Plan& plan, const Layout& layout)
      : endpoint_(side.endpoint),
        plan_(plan),
        layout_(layout),
        peer_(side.peer),
        stop_(side.monitor) {}

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

  // False: the test has to end. `before`: as for PingPong::exchange.
  Result<bool> ask(std::uint64_t number, std::int64_t& before) {
    if (StopPoller::due(number)) {
      auto go_on = stop_.go_on_at(monotonic_ns());
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
      auto go_on = stop_.go_on_at(monotonic_ns());
      if (!go_on || stop_.stopped()) {
        return go_on;
      }
      if (plan_.events) {
        (void)endpoint_.wait_sends(net::Deadline::of(kSleep));
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

  verbs::Endpoint& endpoint_;
  const Plan& plan_;
  const Layout& layout_;
  std::string_view peer_;
  StopPoller stop_;
  verbs::Completion completion_ = {};
};

template <class Detector>
Result<Outcome> ping_pong(const Side& side, const Plan& plan, const Layout& layout,
                          Detector detector) {
  PingPong exchange(side, plan, layout, std::move(detector));
  return side.role == Role::Active ? exchange.ping() : exchange.pong();
}

}  // namespace

Result<> check_latency(const Side& side, const Plan& plan) {
  if (plan.operation != Operation::Write) {
    return {};
  }
  if (side.buffer.host() == nullptr || plan.events || plan.message_bytes == 0) {
    return fail(ErrorKind::Unsupported, "latency of writes", side.buffer.describe(),
                "the processor has to see the last byte change",
                "write with immediate value or send instead");
  }
  return {};
}

Result<Outcome> run_latency(const Side& side, const Plan& plan) {
  const Layout layout = layout_of(plan);
  if (plan.operation == Operation::Read || verbs::is_atomic(plan.operation)) {
    return side.role == Role::Passive ? wait_for_end(side.monitor)
                                      : RoundTrip(side, plan, layout).run();
  }
  if (plan.operation == Operation::Write) {
    return ping_pong(side, plan, layout, WriteDetector(side, layout));
  }
  return ping_pong(side, plan, layout, CompletionDetector(side, plan, layout));
}

}  // namespace chokepoint::rdma::perf
