#include "probe/path/trace_plan.h"

#include <algorithm>
#include <map>

namespace chokepoint::probe::path {
namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;

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

}  // namespace

TracePlan::TracePlan(const PlanOptions& options) : options_(options), last_ttl_(options.max_hops) {}

bool TracePlan::all_sent() const { return again_.empty() && round_ >= options_.probes; }

int TracePlan::in_flight() const {
  return static_cast<int>(std::ranges::count(probes_, State::InFlight, &Probe::state));
}

std::vector<int> TracePlan::silent_hops() const {
  std::vector<int> silent;
  for (const Hop& hop : hops()) {
    if (hop.answered == 0) {
      silent.push_back(hop.ttl);
    }
  }
  return silent;
}

bool TracePlan::done() const {
  return all_sent() && in_flight() == 0 && (asked_again_ || silent_hops().empty());
}

void TracePlan::next_round() {
  ttl_ = 1;
  ++round_;
}

int TracePlan::next_ttl() {
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

std::optional<Shot> TracePlan::next(std::int64_t now_ns) {
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
  return Shot{.sequence = static_cast<std::uint32_t>(probes_.size() - 1), .ttl = ttl};
}

TracePlan::Probe* TracePlan::probe_of(const Reply& reply, std::int64_t now_ns) {
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

void TracePlan::go_serial(std::int64_t now_ns) {
  serial_ = true;
  for (Probe& probe : probes_) {
    if (probe.state == State::InFlight) {
      probe.state = State::Void;
      again_.push_back(probe.ttl);
    }
  }
  // What is still on its way has arrived by then.
  not_before_ns_ = now_ns + options_.wait_ns;
}

void TracePlan::answered(const Reply& reply, std::int64_t now_ns) {
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

void TracePlan::ends_at(int ttl, const Reply& reply) {
  ended_ = true;
  reached_ = reached_ || reply.kind == ReplyKind::Reached;
  last_ttl_ = std::min(last_ttl_, ttl);
  std::erase_if(again_, [this](int waiting) { return waiting > last_ttl_; });
  if (ttl_ > last_ttl_) {
    next_round();
  }
}

std::int64_t TracePlan::gives_up_at(const Probe& probe) const {
  const bool behind_the_last = !ended_ && probe.ttl == answered_to_ + 1;
  return probe.sent_ns + (behind_the_last ? options_.patience_ns : options_.wait_ns);
}

std::vector<std::uint32_t> TracePlan::expired(std::int64_t now_ns) {
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

std::int64_t TracePlan::wake_at(std::int64_t now_ns) const {
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

void TracePlan::add_to(Hop& hop, const Probe& probe) const {
  // What is still in flight when time runs out is neither answered nor lost.
  if (probe.state == State::Void || probe.state == State::InFlight) {
    return;
  }
  ++hop.sent;
  if (probe.state != State::Answered) {
    return;
  }
  ++hop.answered;
  hop.rtt_ms.push_back(static_cast<double>(probe.reply.received_ns - probe.sent_ns) /
                       kNanosecondsPerMillisecond);
  if (probe.reply.kind == ReplyKind::Unreachable || probe.reply.kind == ReplyKind::TooBig) {
    hop.unreachable = probe.reply.reason.value_or(Unreachable::Other);
  }
}

std::vector<Hop> TracePlan::hops() const {
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

}  // namespace chokepoint::probe::path
