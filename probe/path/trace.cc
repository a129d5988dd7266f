#include "probe/path/trace.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>

#include "base/math/statistics.h"
#include "base/math/units.h"

namespace chokepoint::probe::path {
namespace {

std::vector<net::Address> by_frequency(const std::map<net::Address, int>& counts) {
  std::vector<std::pair<int, net::Address>> sorted;
  for (const auto& [address, count] : counts) {
    sorted.emplace_back(-count, address);
  }
  std::ranges::sort(sorted);
  std::vector<net::Address> addresses;
  for (const auto& [count, address] : sorted) {
    addresses.push_back(address);
  }
  return addresses;
}

// Which probe is sent next, to which TTL, and what its answer means: the traceroute without sockets
// and clock. A round is one probe to every TTL from 1 to the target; rounds follow one another, so
// that a router's probes are spread in time. Times are monotonic nanoseconds.
//
//   next(now) → ProbePacket        as soon as the last probe is answered, or `pace` after it
//   answered(reply)         the first answer of the target, or a refusal, ends the path there
//   expired(now) → [seq]    after `wait` a probe counts as lost
//
// On a short path the next probe waits for the answer to the last one, so hardly any overshoots the
// target, which limits the rate of its answers (Linux: six, then one per second). On a long path
// probes overlap, at most `window` of them.
//
// From the second round on the silence behind the last hop that answered is not explored again. At
// the end silent hops in the middle are probed once more after a pause: a router that answered
// other probes before may have reached its rate limit.
//
// A router that quotes only eight bytes of the probe leaves out the sequence number. From the first
// such answer on, one probe is in flight at a time, and those it may have belonged to are sent
// again.
class TracePlan {
 public:
  explicit TracePlan(const PlanOptions& options) : options_(options), last_ttl_(options.max_hops) {}

  // Counts as sent now; nullopt where it is too early or everything has been sent.
  std::optional<ProbePacket> next(std::int64_t now_ns) {
    if (all_sent() && in_flight() == 0 && !asked_again_) {
      asked_again_ = true;
      const std::vector<int> silent = silent_hops();
      again_.assign(silent.begin(), silent.end());
      not_before_ns_ = now_ns + options_.pause_ns;
    }
    const bool paced = !probes_.empty() && probes_.back().state == State::InFlight;
    const int window = serial_ ? 1 : options_.window;
    if (all_sent() || in_flight() >= window || now_ns < not_before_ns_ ||
        (paced && now_ns < next_by_pace_ns_)) {
      return std::nullopt;
    }
    const int ttl = next_ttl();
    probed_to_ = std::max(probed_to_, ttl);
    probes_.push_back({.ttl = ttl, .sent_ns = now_ns});
    next_by_pace_ns_ = now_ns + options_.pace_ns;
    return ProbePacket{.sequence = static_cast<std::uint32_t>(probes_.size() - 1), .ttl = ttl};
  }

  void answered(const Reply& reply, std::int64_t now_ns) {
    Probe* probe = probe_of(reply, now_ns);
    if (probe == nullptr || probe->state != State::InFlight) {
      return;
    }
    probe->state = State::Answered;
    probe->reply = reply;
    if (reply.kind == ReplyKind::Expired) {
      answered_to_ = std::max(answered_to_, probe->ttl);
    } else {
      ends_at(probe->ttl, reply);
    }
  }

  std::vector<std::uint32_t> expired(std::int64_t now_ns) {
    std::vector<std::uint32_t> gone;
    for (std::size_t i = 0; i < probes_.size(); ++i) {
      Probe& probe = probes_[i];
      const bool beyond = probe.ttl > last_ttl_;
      if (probe.state == State::InFlight && (beyond || gives_up_at(probe) <= now_ns)) {
        probe.state = State::Lost;
        gone.push_back(static_cast<std::uint32_t>(i));
      }
    }
    return gone;
  }

  // Everything has been sent, and answered or given up.
  bool done() const {
    return all_sent() && in_flight() == 0 && (asked_again_ || silent_hops().empty());
  }

  // When next() or expired() may return something.
  std::int64_t wake_at(std::int64_t now_ns) const {
    std::int64_t wake = now_ns + options_.wait_ns;
    if (!all_sent() && in_flight() < (serial_ ? 1 : options_.window)) {
      wake = std::min(wake, std::max(not_before_ns_, in_flight() > 0 ? next_by_pace_ns_ : 0));
    }
    for (const Probe& probe : probes_) {
      if (probe.state == State::InFlight) {
        wake = std::min(wake, gives_up_at(probe));
      }
    }
    return wake;
  }

  std::vector<Hop> hops() const {
    const int length = ended_ ? last_ttl_ : answered_to_;
    std::vector<Hop> hops;
    std::vector<std::map<net::Address, int>> counts(static_cast<std::size_t>(length));
    for (int ttl = 1; ttl <= length; ++ttl) {
      hops.push_back({.ttl = ttl});
    }
    for (const Probe& probe : probes_) {
      if (probe.ttl > length) {
        continue;
      }
      const auto index = static_cast<std::size_t>(probe.ttl - 1);
      add_to(hops[index], probe);
      if (probe.state == State::Answered && probe.reply.from) {
        ++counts[index][*probe.reply.from];
      }
    }
    for (std::size_t i = 0; i < hops.size(); ++i) {
      hops[i].addresses = by_frequency(counts[i]);
    }
    return hops;
  }

  bool reached() const { return reached_; }
  bool all_sent() const { return again_.empty() && round_ >= options_.probes; }
  int probed_to() const { return probed_to_; }

 private:
  enum class State { InFlight, Answered, Lost, Void };
  struct Probe {
    int ttl = 0;
    State state = State::InFlight;
    std::int64_t sent_ns = 0;
    Reply reply = {};
  };

  int next_ttl() {
    if (!again_.empty()) {
      const int ttl = again_.front();
      again_.pop_front();
      return ttl;
    }
    constexpr int kIntoSilence = 2;
    const int ttl = ttl_++;
    const bool explored = round_ > 0 && !ended_ && ttl_ > answered_to_ + kIntoSilence;
    if (ttl_ > last_ttl_ || explored) {
      next_round();
    }
    return ttl;
  }

  void next_round() {
    ttl_ = 1;
    ++round_;
  }

  std::vector<int> silent_hops() const {
    std::vector<int> silent;
    for (const Hop& hop : hops()) {
      if (hop.answered == 0) {
        silent.push_back(hop.ttl);
      }
    }
    return silent;
  }

  std::int64_t gives_up_at(const Probe& probe) const {
    const bool behind_the_last = !ended_ && probe.ttl == answered_to_ + 1;
    return probe.sent_ns + (behind_the_last ? options_.unreachable_wait_ns : options_.wait_ns);
  }

  int in_flight() const {
    return static_cast<int>(std::ranges::count(probes_, State::InFlight, &Probe::state));
  }

  Probe* probe_of(const Reply& reply, std::int64_t now_ns) {
    if (reply.sequence) {
      return *reply.sequence < probes_.size() ? &probes_[*reply.sequence] : nullptr;
    }
    if (in_flight() > 1) {
      go_serial(now_ns);
      return nullptr;
    }
    const auto only = std::ranges::find(probes_, State::InFlight, &Probe::state);
    return only == probes_.end() ? nullptr : &*only;
  }

  void go_serial(std::int64_t now_ns) {
    serial_ = true;
    for (Probe& probe : probes_) {
      if (probe.state == State::InFlight) {
        probe.state = State::Void;
        again_.push_back(probe.ttl);
      }
    }
    // By then everything in flight has arrived.
    not_before_ns_ = now_ns + options_.wait_ns;
  }

  void ends_at(int ttl, const Reply& reply) {
    ended_ = true;
    reached_ = reached_ || reply.kind == ReplyKind::Reached;
    last_ttl_ = std::min(last_ttl_, ttl);
    std::erase_if(again_, [this](int waiting) { return waiting > last_ttl_; });
    if (ttl_ > last_ttl_) {
      next_round();
    }
  }

  void add_to(Hop& hop, const Probe& probe) const {
    // A probe in flight when time runs out is neither answered nor lost.
    if (probe.state == State::Void || probe.state == State::InFlight) {
      return;
    }
    ++hop.sent;
    if (probe.state != State::Answered) {
      return;
    }
    ++hop.answered;
    hop.rtt_ms.push_back(static_cast<double>(probe.reply.received_ns - probe.sent_ns) /
                         math::kNsPerMs);
    if (probe.reply.kind == ReplyKind::Unreachable || probe.reply.kind == ReplyKind::TooBig) {
      hop.unreachable = probe.reply.reason.value_or(Unreachable::Other);
    }
  }

  PlanOptions options_;
  std::vector<Probe> probes_;  // by sequence number
  std::deque<int> again_;      // TTLs to probe again
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

Result<> send_due(Prober& prober, TracePlan& plan, const sys::Clock& clock) {
  while (const std::optional<ProbePacket> packet = plan.next(clock.monotonic_ns())) {
    TRY(prober.send(*packet));
  }
  return {};
}

Result<> receive_replies(Prober& prober, TracePlan& plan, const sys::Clock& clock,
                         std::int64_t until_ns) {
  const std::int64_t now_ns = clock.monotonic_ns();
  const std::int64_t wait_ns = std::min(plan.wake_at(now_ns), until_ns) - now_ns;
  TRY(const std::vector<Reply> replies,
      prober.collect(std::chrono::nanoseconds(std::max<std::int64_t>(wait_ns, 0))));
  for (const Reply& reply : replies) {
    plan.answered(reply, clock.monotonic_ns());
  }
  for (const std::uint32_t sequence : plan.expired(clock.monotonic_ns())) {
    prober.abandon(sequence);
  }
  return {};
}

}  // namespace

std::string_view words_of(Unreachable reason) {
  constexpr std::array<std::string_view, 7> kWords{"network unreachable",
                                                   "host unreachable",
                                                   "protocol unreachable",
                                                   "port unreachable",
                                                   "packet too big",
                                                   "prohibited by a filter",
                                                   "unreachable for a reason of its own"};
  return kWords.at(static_cast<std::size_t>(reason));
}

std::optional<net::Address> Hop::address() const {
  return addresses.empty() ? std::nullopt : std::optional(addresses.front());
}

std::optional<double> Hop::median_rtt_ms() const { return math::median(rtt_ms); }

std::optional<double> Hop::loss_percent() const {
  if (sent == 0) {
    return std::nullopt;
  }
  return 100.0 * (sent - answered) / sent;
}

std::optional<int> Trace::length() const {
  return reached ? std::optional(static_cast<int>(hops.size())) : std::nullopt;
}

Result<Trace> trace(Prober& prober, const PlanOptions& options, const sys::Clock& clock,
                    std::int64_t until_ns) {
  TracePlan plan(options);
  while (!plan.done() && clock.monotonic_ns() < until_ns) {
    TRY(send_due(prober, plan, clock));
    const Result<> received = receive_replies(prober, plan, clock, until_ns);
    if (!received && received.error().kind == ErrorKind::Interrupted) {
      break;
    }
    if (!received) {
      return std::unexpected(received.error());
    }
  }
  return Trace{.hops = plan.hops(),
               .reached = plan.reached(),
               .probed_to = plan.probed_to(),
               .complete = plan.done()};
}

}  // namespace chokepoint::probe::path
