// One end of a test of calls: its connections, and the loop that moves messages over them and
// measures. A client has connections on which it calls; a server's worker has those on which it
// answers and, in a chain, as many on which it calls the next worker:
//
//   client            worker                              next worker
//     call ──────────► a request has arrived whole
//                         call on the connection of the same number ──► …
//                         ◄── its answer
//     ◄────────────── the answer
//
// Answers come in the order of the requests. Owns the connections; everything runs on its caller's
// thread, which calls turn() until it has what it wants. Nothing is allocated for a call.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/host/cpu.h"
#include "base/math/histogram.h"
#include "base/sys/descriptor.h"
#include "base/sys/root.h"
#include "probe/rpc/measurement.h"
#include "probe/rpc/parameters.h"
#include "probe/rpc/wire.h"
#include "probe/tcp/stream.h"

namespace chokepoint::probe::rpc {

using OnInterval = std::function<void(const Interval& interval)>;

// Moments, first in, first out, in room that is made once.
class Moments {
 public:
  explicit Moments(std::size_t room) : room_(room) {}

  bool is_empty() const { return count_ == 0; }
  bool is_full() const { return count_ == room_.size(); }
  std::int64_t first() const { return room_[first_]; }
  void push(std::int64_t ns) { room_[wrapped(first_ + count_++)] = ns; }
  std::int64_t pop() {
    const std::int64_t ns = room_[first_];
    first_ = wrapped(first_ + 1);
    --count_;
    return ns;
  }

 private:
  std::size_t wrapped(std::size_t index) const {
    return index < room_.size() ? index : index - room_.size();
  }

  std::vector<std::int64_t> room_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

class Engine {
 public:
  // `calls`: connections on which it calls, `answers`: on which it answers. Where there are both
  // they are as many.
  static Result<std::unique_ptr<Engine>> make(std::vector<sys::Descriptor> calls,
                                              std::vector<sys::Descriptor> answers,
                                              const Parameters& parameters, sys::Root root);

  // turn() returns at once when there is something to read here. Not owned; -1: none.
  Result<> watch(int fd);
  // Measures from now on; an end that only calls begins to call, until the time is over.
  // `on_interval` is for that one.
  Result<> begin(OnInterval on_interval, std::chrono::nanoseconds interval);
  // Moves what can be moved, or waits until something can; for control::kTick at the longest. True
  // where something is to be read elsewhere, and once every control::kTick: calls come far more
  // often than what is worth a look.
  Result<bool> turn();
  std::uint64_t outstanding() const { return outstanding_; }
  // Measuring ends.
  void end();

  // Grows as long as bytes of calls move; `behind` is that of the workers behind this one.
  std::uint64_t progress() const { return progress_ + behind_; }
  void note_progress_behind(std::uint64_t progress) { behind_ = progress; }
  // How long calls have been outstanding and nothing moved.
  std::chrono::nanoseconds stalled() const;

  // By the client's clock: from the first call to the last answer, and the time until now.
  double duration_s() const;
  std::chrono::nanoseconds since_begin() const;
  // What it did as one that calls: without the worker's half, host and address.
  Hop calls() const;
  Worker answers() const;
  HostMeasure host() const;
  const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  struct Caller {
    Wire wire;
    Moments started;
    Moments due;  // when calls may begin
    bool watches_room = false;
  };
  struct Answerer {
    Wire wire;
    Moments arrived;
    bool watches_room = false;
  };

  Engine(const Parameters& parameters, tcp::Payload payload, sys::Root root, sys::Descriptor epoll);

  Result<> add_to_epoll(int fd, std::uint64_t number) const;
  Result<> watch_for_room(const Wire& wire, bool& watches, std::uint64_t number) const;
  void sleep(std::int64_t ns) const;
  Result<bool> handle(std::uint64_t number);
  Result<> handle_caller(std::size_t index);
  Result<> handle_answerer(std::size_t index);
  void call(Caller& caller, std::int64_t now_ns);
  void call_if_due(Caller& caller, std::int64_t now_ns);
  Result<> call_all_due();
  Result<> flush(Caller& caller, std::size_t index);
  Result<> flush(Answerer& answerer, std::size_t index);
  void note_latency(std::int64_t ns);
  std::int64_t next_due_ns() const;
  void tick(std::int64_t now_ns);
  void end_interval(std::int64_t now_ns);
  template <class Visit>
  void each_wire(Visit visit);

  Parameters parameters_;
  tcp::Payload payload_;
  sys::Root root_;
  sys::Descriptor epoll_;
  std::vector<std::byte> buffer_;
  SentMeter requests_;
  SentMeter answers_;
  std::vector<Caller> callers_;
  std::vector<Answerer> answerers_;
  bool is_over_ = false;  // no call begins any more

  std::int64_t begun_ns_ = 0;  // 0: not yet
  std::int64_t ended_ns_ = 0;
  std::int64_t waited_ns_ = 0;
  std::int64_t cpu_before_ns_ = 0;
  std::int64_t cpu_ns_ = 0;
  std::optional<host::CoreTimes> cores_before_;
  std::optional<host::CoreTimes> cores_after_;

  std::uint64_t outstanding_ = 0;
  std::uint64_t taken_ = 0;  // requests that arrived whole
  std::int64_t last_answer_ns_ = 0;
  math::Histogram latency_ns_;
  math::Histogram held_ns_;

  std::int64_t next_tick_ns_ = 0;
  std::uint64_t progress_ = 0;
  std::uint64_t behind_ = 0;
  std::uint64_t seen_progress_ = 0;
  std::int64_t moved_ns_ = 0;

  OnInterval on_interval_;
  std::chrono::nanoseconds interval_{};
  std::int64_t interval_began_ns_ = 0;
  std::uint64_t interval_calls_ = 0;
  double interval_sum_ns_ = 0;
  std::int64_t interval_max_ns_ = 0;
  std::vector<Interval> intervals_;
};

}  // namespace chokepoint::probe::rpc
