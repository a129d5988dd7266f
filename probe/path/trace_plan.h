// Which probe goes out next, to which TTL, and what its answer means: the traceroute without its
// sockets and its clock. A round is one probe to every TTL from 1 to the target; rounds follow one
// another so that a router's probes are spread in time.
//
//   next(now) → Shot        as soon as the last probe is answered, or `pace` after it
//   answered(reply)         the first answer of the target, or a refusal, ends the path there
//   expired(now) → [seq]    after `wait` a probe counts as lost
//
// On a short path the next probe waits for the last one's answer, so hardly any overshoots the
// target, whose answers are rationed (Linux: six, then one a second). On a long one probes overlap,
// at most `window` of them.
//
// From the second round on the silence behind the last hop that answered is not explored again. At
// the end silent hops in the middle are asked once more after a pause: a router that answered
// others before may just have used up its ration.
//
// A router that quotes only eight bytes of the probe leaves the sequence number out. From the first
// such answer on one probe is in flight at a time, and those it may have belonged to are sent
// again.
//
// Times are monotonic nanoseconds. A value with a state; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "probe/path/hop.h"
#include "probe/path/prober.h"

namespace chokepoint::probe::path {

struct PlanOptions {
  int max_hops = 30;
  int probes = 3;  // to every hop
  int window = 32;
  std::int64_t pace_ns = 25'000'000;
  std::int64_t wait_ns = 1'000'000'000;
  std::int64_t pause_ns = 1'100'000'000;  // before silent hops are asked once more
  // Behind the last hop that answered: a router says "host unreachable" only after three seconds
  // of asking for the target's link address.
  std::int64_t patience_ns = 3'500'000'000;
};

class TracePlan {
 public:
  explicit TracePlan(const PlanOptions& options);

  // Counted as sent now; nothing where it is not time yet or everything is sent.
  std::optional<Shot> next(std::int64_t now_ns);
  void answered(const Reply& reply, std::int64_t now_ns);
  std::vector<std::uint32_t> expired(std::int64_t now_ns);
  // Everything is sent, and answered or given up.
  bool done() const;
  // When next() or expired() may have something to say.
  std::int64_t wake_at(std::int64_t now_ns) const;

  std::vector<Hop> hops() const;
  bool reached() const { return reached_; }
  bool all_sent() const;
  int probed_to() const { return probed_to_; }

 private:
  enum class State { InFlight, Answered, Lost, Void };
  struct Probe {
    int ttl = 0;
    State state = State::InFlight;
    std::int64_t sent_ns = 0;
    Reply reply = {};
  };

  int next_ttl();
  void next_round();
  std::vector<int> silent_hops() const;
  std::int64_t gives_up_at(const Probe& probe) const;
  int in_flight() const;
  Probe* probe_of(const Reply& reply, std::int64_t now_ns);
  void go_serial(std::int64_t now_ns);
  void ends_at(int ttl, const Reply& reply);
  void add_to(Hop& hop, const Probe& probe) const;

  PlanOptions options_;
  std::vector<Probe> probes_;  // by sequence number
  std::deque<int> again_;      // TTLs whose answers could not be told apart
  int round_ = 0;
  int ttl_ = 1;
  int last_ttl_;
  int answered_to_ = 0;
  int probed_to_ = 0;
  bool reached_ = false;
  bool ended_ = false;  // by the target or by a refusal
  bool serial_ = false;
  bool asked_again_ = false;
  std::int64_t next_by_pace_ns_ = 0;  // unless the last probe is answered before
  std::int64_t not_before_ns_ = 0;
};

}  // namespace chokepoint::probe::path
