// The loops of a bandwidth test, one for each side. They block the one thread that they run on.
#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <vector>

#include "rdma/perf/loops.h"
#include "rdma/perf/plan.h"
#include "rdma/perf/test.h"
#include "rdma/perf/verifier.h"
#include "rdma/verbs/endpoint.h"

namespace chokepoint::rdma::perf {
namespace {

// What a side receives: counted, compared with the pattern if the test checks (--check), and its
// receives posted again, many at a time.
class Receiver {
 public:
  Receiver(verbs::Endpoint& endpoint, const Layout& layout, std::string_view peer,
           Verifier* verifier)
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
    std::size_t place = 0;  // of the first of them
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

  verbs::Endpoint& endpoint_;
  const Layout& layout_;
  std::string_view peer_;
  Verifier* verifier_;
  std::size_t refill_;
  std::vector<Queue> queues_;
  std::array<verbs::Completion, 16> completions_;
  std::uint64_t received_ = 0;
  std::optional<Error> error_;
};

// The passive side of a test that sends: receives until all messages came, or until the active side
// has reported that it is done.
class BandwidthReceiver {
 public:
  BandwidthReceiver(const Side& side, const Plan& plan, const Layout& layout, Verifier* verifier)
      : endpoint_(side.endpoint),
        plan_(plan),
        layout_(layout),
        receiver_(side.endpoint, layout, side.peer, verifier),
        stop_(side.monitor),
        warm_(plan.warm_up * static_cast<std::uint64_t>(layout.queues)),
        all_(plan.iterations ? warm_ + *plan.iterations * static_cast<std::uint64_t>(layout.queues)
                             : UINT64_MAX) {}

  Result<Outcome> run() {
    last_ = monotonic_ns();
    while (receiver_.received() < all_) {
      const bool came = receiver_.collect();
      if (receiver_.failed()) {
        return fail(receiver_.error());
      }
      if (came && !meter_.begun() && receiver_.received() > warm_) {
        meter_.begin(monotonic_ns(), receiver_.received());
      }
      if (!came && plan_.events) {
        (void)endpoint_.wait_receives(net::Deadline::of(kSleep));
        clock_.hurry();
      } else if (came && plan_.check) {
        clock_.hurry();  // comparing messages takes long
      }
      if (!clock_.due()) {
        continue;
      }
      TRY(const auto go_on, look(clock_.read()));
      if (!go_on) {
        break;
      }
    }
    if (meter_.begun()) {
      meter_.sample(monotonic_ns(), receiver_.received());
    }
    return outcome();
  }

 private:
  static constexpr std::chrono::milliseconds kSleep{2};
  // Nothing came for so long after the sender's end: nothing is under way any more.
  static constexpr std::int64_t kQuiet = 20 * kMillisecond;

  Result<bool> look(std::int64_t now) {
    if (receiver_.received() != seen_) {
      seen_ = receiver_.received();
      last_ = now;
    }
    if (meter_.begun()) {
      meter_.sample(now, seen_);
    }
    const auto go_on = stop_.go_on_at(now);
    return !go_on || *go_on ? go_on : Result<bool>(now - last_ < kQuiet);
  }

  Outcome outcome() const {
    Outcome outcome{.messages = receiver_.received() - std::min(receiver_.received(), warm_)};
    outcome.bytes = outcome.messages * layout_.message_bytes;
    meter_.fill(outcome, layout_.message_bytes);
    return outcome;
  }

  verbs::Endpoint& endpoint_;
  const Plan& plan_;
  const Layout& layout_;
  Receiver receiver_;
  StopPoller stop_;
  Meter meter_;
  ClockThrottle clock_;
  std::uint64_t warm_;
  std::uint64_t all_;
  std::uint64_t seen_ = 0;
  std::int64_t last_ = 0;
};

// What a side posts: as many requests on each queue pair as its depth allows, in turn. One of each
// group is signaled, and its completion stands for the whole group. A phase (warm-up, test) ends
// with a signaled request.
//
// A request costs no virtual call, no allocation and no read of the clock. An error is kept until
// the loop asks for it.
class Sender {
 public:
  // `verifier`: null without check.
  Sender(verbs::Endpoint& endpoint, const Layout& layout, std::string_view peer, Verifier* verifier)
      : endpoint_(endpoint),
        layout_(layout),
        peer_(peer),
        verifier_(verifier),
        queues_(static_cast<std::size_t>(layout.queues)) {}

  // Begins a phase of `requests` on each queue pair.
  void begin(std::uint64_t requests) {
    until_ = requests;
    sent_ = completed_ = 0;
    for (Queue& queue : queues_) {
      queue.base += queue.sent;
      queue.sent = queue.completed = 0;
      queue.signaled = layout_.group;
      queue.place = verifier_ == nullptr ? 0 : queue.place;
    }
  }

  // Ends the phase as soon as each queue pair has sent as many as the one that sent most.
  void finish() {
    std::uint64_t most = 0;
    for (const Queue& queue : queues_) {
      most = std::max(most, queue.sent);
    }
    until_ = std::min(until_, (most + layout_.group - 1) / layout_.group * layout_.group);
  }

  // At most `requests` on each queue pair for now.
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
    std::uint64_t signaled = 0;  // the request with which so many are sent is signaled
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
    const bool signal = after == queue.signaled || after == until_;
    if (const int code = endpoint_.post_sends(index, queue.place, count, signal); code != 0) {
      error_ = from_errno(code, "post requests", peer_);
      return false;
    }
    queue.signaled += after == queue.signaled ? layout_.group : 0;
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

  verbs::Endpoint& endpoint_;
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

void doze(std::int64_t nanoseconds) {
  const timespec wait{.tv_sec = 0, .tv_nsec = nanoseconds};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, nullptr);
}

// The active side: posts, polls and, in a test both ways, receives, until its share is done or it
// has to stop.
class Stream {
 public:
  Stream(const Side& side, const Plan& plan, const Layout& layout, Verifier* verifier)
      : endpoint_(side.endpoint),
        plan_(plan),
        layout_(layout),
        sender_(side.endpoint, layout, side.peer, verifier),
        stop_(side.monitor),
        pace_(plan.rate_bits_per_s, layout.message_bytes, layout.queues),
        meter_(layout.group * static_cast<std::uint64_t>(layout.queues)) {
    if (plan.both_ways && layout.receive_ring > 0) {
      receiver_.emplace(side.endpoint, layout, side.peer, verifier);
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
    sender_.begin(stop_.stopped() ? 0 : requests);
    const std::int64_t start = monotonic_ns();
    deadline_ = time == kNever ? kNever : start + time;
    meter_.begin(start);
    pace_.begin(start);
    keep_pace(start);
    clock_.hurry();
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
        clock_.hurry();  // comparing messages takes long
      }
      if (clock_.due()) {
        TRY(look(clock_.read()));
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
    TRY(const auto go_on, stop_.go_on_at(now));
    if (now >= deadline_ || !go_on) {
      sender_.finish();
      sender_.allow(UINT64_MAX);
      deadline_ = kNever;
    }
    given_up_ = stop_.waited_long(now);
    return receiver_ && receiver_->failed() ? fail(first_error()) : Result<>{};
  }

  // A request that failed takes the receives with it: what failed first is reported.
  const Error& first_error() {
    sender_.collect();
    return sender_.failed() ? sender_.error() : receiver_->error();
  }

  // Nothing to do: waits, except where the plan polls for the next completion.
  void rest() {
    if (sender_.idle() && sender_.held_back()) {
      doze(kMillisecond / 2);
      clock_.hurry();
    } else if (plan_.events) {
      const auto deadline = net::Deadline::of(kSleep);
      (void)(sender_.idle() ? endpoint_.wait_receives(deadline) : endpoint_.wait_sends(deadline));
      clock_.hurry();
    }
  }

  bool all_received() const {
    const auto queues = static_cast<std::uint64_t>(layout_.queues);
    return plan_.iterations &&
           receiver_->received() >= (*plan_.iterations + plan_.warm_up) * queues;
  }

  // Over RC as many messages arrive as were agreed on, however long packets are retransmitted; this
  // side takes them all, or the other one would never end.
  bool may_be_less() const { return !plan_.iterations || plan_.transport != verbs::Transport::Rc; }

  // The other side may be behind: receives until all came, or nothing came for a while.
  Result<> receive_rest() {
    std::int64_t last = monotonic_ns();
    while (!all_received()) {
      const bool came = receiver_->collect();
      if (receiver_->failed()) {
        return fail(receiver_->error());
      }
      if (!came && plan_.events) {
        (void)endpoint_.wait_receives(net::Deadline::of(kSleep));
      }
      if (!came && !clock_.due()) {
        continue;
      }
      const std::int64_t now = clock_.read();
      last = came ? now : last;
      TRY(const auto go_on, stop_.go_on_at(now));
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

  verbs::Endpoint& endpoint_;
  const Plan& plan_;
  const Layout& layout_;
  Sender sender_;
  std::optional<Receiver> receiver_;
  StopPoller stop_;
  Pace pace_;
  Meter meter_;
  ClockThrottle clock_;
  std::int64_t deadline_ = kNever;
  bool given_up_ = false;
};

}  // namespace

Result<Outcome> stream(const Side& side, const Plan& plan, const Layout& layout,
                       Verifier* verifier) {
  return Stream(side, plan, layout, verifier).run();
}

Result<Outcome> receive_all(const Side& side, const Plan& plan, const Layout& layout,
                            Verifier* verifier) {
  return BandwidthReceiver(side, plan, layout, verifier).run();
}

}  // namespace chokepoint::rdma::perf
