#include "capture/job/held_signals.h"

#include <signal.h>

#include <algorithm>
#include <utility>

namespace chokepoint::capture::job {
namespace {

// When a terminal ends the shell sends SIGHUP to chokepoint, and the kernel to the group that has
// the terminal, which may be the job's.
bool are_of_one_event(const sys::Signal& came, const sys::Signal& noted) {
  return came == noted ||
         (came.number == SIGHUP && noted.number == SIGHUP && noted.code == SI_KERNEL);
}

}  // namespace

void HeldSignals::hold(const sys::Signal& signal, std::int64_t now_ns) {
  std::erase_if(noted_, [&](const Noted& one) { return one.t_ns + kSpread.count() < now_ns; });
  const auto has = [&](WitnessedGroup group) {
    return std::ranges::any_of(noted_, [&](const Noted& one) {
      return one.group == group && are_of_one_event(signal, one.signal);
    });
  };
  const bool is_same = std::ranges::any_of(held_, [&](const Held& one) {
    return one.signal == signal && one.t_ns + kMerged.count() >= now_ns;
  });
  if (!is_same && !has(WitnessedGroup::Jobs)) {
    held_.push_back({.signal = signal, .t_ns = now_ns, .is_groups = has(WitnessedGroup::Own)});
  }
}

void HeldSignals::note(WitnessedGroup group, const sys::Signal& signal, std::int64_t t_ns) {
  if (signal.sender == own_) {
    return;  // what this process passed on
  }
  noted_.push_back({.group = group, .signal = signal, .t_ns = t_ns});
  if (group == WitnessedGroup::Jobs) {
    std::erase_if(held_, [&](const Held& one) { return are_of_one_event(one.signal, signal); });
    return;
  }
  for (Held& one : held_) {
    one.is_groups = one.is_groups || are_of_one_event(one.signal, signal);
  }
}

std::optional<std::uint32_t> HeldSignals::query(std::int64_t now_ns) {
  bool is_due = false;
  for (Held& one : held_) {
    if (one.query == 0 && one.t_ns + kSpread.count() <= now_ns) {
      one.query = last_query_ + 1;
      is_due = true;
    }
  }
  return is_due ? std::optional(++last_query_) : std::nullopt;
}

std::vector<Delivery> HeldSignals::settle(std::int64_t now_ns, std::uint32_t replied,
                                          bool is_own_witnessed) {
  const auto is_settled = [&](const Held& one) {
    return one.query != 0 &&
           (one.query <= replied || one.t_ns + kSpread.count() + kReplyTimeout.count() <= now_ns);
  };
  std::vector<Delivery> deliveries;
  for (; !held_.empty() && is_settled(held_.front()); held_.pop_front()) {
    deliveries.push_back({.number = held_.front().signal.number,
                          .to_whole_group = held_.front().is_groups || !is_own_witnessed});
  }
  return deliveries;
}

std::optional<std::int64_t> HeldSignals::next_ns() const {
  std::optional<std::int64_t> next;
  for (const Held& one : held_) {
    const std::int64_t wait = (one.query == 0 ? kSpread : kSpread + kReplyTimeout).count();
    next = std::min(next.value_or(one.t_ns + wait), one.t_ns + wait);
  }
  return next;
}

}  // namespace chokepoint::capture::job
