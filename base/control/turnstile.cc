#include "base/control/turnstile.h"

#include <fmt/format.h>

#include <algorithm>

namespace chokepoint::control {

Turnstile::Turn::Turn(Turnstile& turnstile, Test test) : turnstile_(turnstile) {
  const std::lock_guard lock(turnstile_.mutex_);
  ticket_ = turnstile_.next_ticket_++;
  turnstile_.entries_.push_back({.ticket = ticket_, .test = std::move(test)});
}

Turnstile::Turn::~Turn() {
  const std::lock_guard lock(turnstile_.mutex_);
  turnstile_.entries_.remove_if([&](const Entry& entry) { return entry.ticket == ticket_; });
}

Result<> Turnstile::Turn::take() {
  const std::lock_guard lock(turnstile_.mutex_);
  const auto mine = std::ranges::find(turnstile_.entries_, ticket_, &Entry::ticket);
  const Entry* ahead = turnstile_.obstacle(*mine);
  if (ahead == nullptr) {
    mine->running = true;
    return {};
  }
  return fail(ErrorKind::Busy, "wait", "",
              fmt::format("another test {}: {}", ahead->running ? "is running" : "is ahead",
                          ahead->test.who),
              "try again when it is done");
}

const Turnstile::Entry* Turnstile::obstacle(const Entry& entry) const {
  const auto in_the_way = [&](const Entry& other) {
    const bool earlier = other.running || other.ticket < entry.ticket;
    if (other.ticket == entry.ticket || !earlier) {
      return false;
    }
    if (exclusive_ && other.test.owner != entry.test.owner) {
      return true;
    }
    return entry.test.weight == Weight::Heavy && other.test.weight == Weight::Heavy &&
           !(entry.test.share && other.test.share);
  };
  const auto found = std::ranges::find_if(entries_, in_the_way);
  return found == entries_.end() ? nullptr : &*found;
}

}  // namespace chokepoint::control
