// The active side of a bandwidth test: posts, polls and, both ways, receives, until its share is
// done or it is told to end. A template over the endpoint. One thread, which it blocks.
#pragma once

#include <ctime>
#include <optional>

#include "rdma/perf/meter.h"
#include "rdma/perf/pace.h"
#include "rdma/perf/pulse.h"
#include "rdma/perf/receiver.h"
#include "rdma/perf/sender.h"
#include "rdma/perf/vigil.h"

namespace chokepoint::rdma::perf {

inline void doze(std::int64_t nanoseconds) {
  const timespec wait{.tv_sec = 0, .tv_nsec = nanoseconds};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, nullptr);
}

template <class Endpoint>
class Stream {
 public:
  Stream(Endpoint& endpoint, const Side& side, const Plan& plan, const Layout& layout,
         Verifier* verifier)
      : endpoint_(endpoint),
        plan_(plan),
        layout_(layout),
        sender_(endpoint, layout, side.peer, verifier),
        vigil_(side.attention),
        pace_(plan.rate_bits_per_s, layout.message_bytes, layout.queues),
        meter_(layout.group * static_cast<std::uint64_t>(layout.queues)) {
    if (plan.both_ways && layout.receive_ring > 0) {
      receiver_.emplace(endpoint, layout, side.peer, verifier);
    }
  }

  Result<Outcome> run() {
    if (plan_.warm_up > 0) {
      TRY(phase(plan_.warm_up, kNever));
    }
    const std::int64_t time = plan_.time ? plan_.time->count() : kNever;
    auto done = phase(plan_.iterations.value_or(UINT64_MAX), time);
    if (done && receiver_) {
      done = receive_rest();
    }
    return done ? Result<Outcome>(outcome()) : fail(std::move(done.error()));
  }

 private:
  static constexpr std::int64_t kQuiet = 500 * kMillisecond;
  static constexpr std::chrono::milliseconds kSleep{2};

  Result<> phase(std::uint64_t requests, std::int64_t time) {
    sender_.begin(vigil_.stopped() ? 0 : requests);
    const std::int64_t start = monotonic_ns();
    deadline_ = time == kNever ? kNever : start + time;
    meter_.begin(start);
    pace_.begin(start);
    keep_pace(start);
    pulse_.hurry();
    while (!sender_.done() && !given_up_) {
      const bool posted = sender_.post();
      bool moved = sender_.collect() || posted;
      if (receiver_) {
        moved = receiver_->collect() || moved;
      }
      if (sender_.failed()) {
        return fail(sender_.error());
      }
      if (moved && plan_.check) {
        pulse_.hurry();  // to look at messages takes long
      }
      if (pulse_.due()) {
        if (auto seen = look(pulse_.read()); !seen) {
          return seen;
        }
      }
      if (!moved) {
        rest();
      }
    }
    meter_.sample(monotonic_ns(), sender_.completed());
    return {};
  }

  void keep_pace(std::int64_t now) {
    if (pace_.limited()) {
      sender_.allow(pace_.allowed(now, sender_.sent() / static_cast<unsigned>(layout_.queues)));
    }
  }

  Result<> look(std::int64_t now) {
    meter_.sample(now, sender_.completed());
    keep_pace(now);
    TRY(const auto go_on, vigil_.at(now));
    if (now >= deadline_ || !go_on) {
      sender_.finish();
      sender_.allow(UINT64_MAX);
      deadline_ = kNever;
    }
    given_up_ = vigil_.waited_long(now);
    return receiver_ && receiver_->failed() ? fail(first_error()) : Result<>{};
  }

  // A request that failed takes the receives with it: what failed first is told first.
  const Error& first_error() {
    sender_.collect();
    return sender_.failed() ? sender_.error() : receiver_->error();
  }

  // Nothing to do: a processor is burnt for the next completion only where that was asked for.
  void rest() {
    if (sender_.idle() && sender_.held_back()) {
      doze(kMillisecond / 2);
      pulse_.hurry();
    } else if (plan_.events) {
      const auto patience = net::Patience::of(kSleep);
      (void)(sender_.idle() ? endpoint_.wait_receives(patience) : endpoint_.wait_sends(patience));
      pulse_.hurry();
    }
  }

  bool all_received() const {
    const auto queues = static_cast<std::uint64_t>(layout_.queues);
    return plan_.iterations &&
           receiver_->received() >= (*plan_.iterations + plan_.warm_up) * queues;
  }

  // Over RC as many come as were agreed on, however long packets are sent again; this side takes
  // them, or the other one would never end.
  bool may_be_less() const { return !plan_.iterations || plan_.transport != verbs::Transport::Rc; }

  // The other side may be behind: until all came, or nothing has for a while.
  Result<> receive_rest() {
    std::int64_t last = monotonic_ns();
    while (!all_received()) {
      const bool came = receiver_->collect();
      if (receiver_->failed()) {
        return fail(receiver_->error());
      }
      if (!came && plan_.events) {
        (void)endpoint_.wait_receives(net::Patience::of(kSleep));
      }
      if (!came && !pulse_.due()) {
        continue;
      }
      const std::int64_t now = pulse_.read();
      last = came ? now : last;
      TRY(const auto go_on, vigil_.at(now));
      if (go_on ? may_be_less() && now - last > kQuiet : now - last > kQuiet / 20) {
        break;
      }
    }
    return {};
  }

  Outcome outcome() const {
    Outcome outcome{.messages = sender_.completed()};
    outcome.bytes = outcome.messages * layout_.message_bytes;
    if (receiver_) {
      const std::uint64_t warm = plan_.warm_up * static_cast<std::uint64_t>(layout_.queues);
      outcome.received = receiver_->received() - std::min(receiver_->received(), warm);
    }
    meter_.fill(outcome, layout_.message_bytes);
    return outcome;
  }

  Endpoint& endpoint_;
  const Plan& plan_;
  const Layout& layout_;
  Sender<Endpoint> sender_;
  std::optional<Receiver<Endpoint>> receiver_;
  StopPoller vigil_;
  Pace pace_;
  Meter meter_;
  Pulse pulse_;
  std::int64_t deadline_ = kNever;
  bool given_up_ = false;
};

}  // namespace chokepoint::rdma::perf
