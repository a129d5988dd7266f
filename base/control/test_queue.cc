#include "base/control/test_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/math/units.h"

namespace chokepoint::control {
namespace {

bool fills_path(const TestQueue::Test& test) {
  return test.demand.weight == Weight::Heavy || test.demand.weight == Weight::Alone;
}

bool shares(const TestQueue::Test& test) {
  return test.share && test.demand.weight != Weight::Alone;
}

Result<> no_room() {
  return fail(ErrorKind::Exhausted, "wait", "",
              "the tests that are running leave too few threads or too little memory for this one",
              "try again when they are done");
}

}  // namespace

TestQueue::Turn::Turn(TestQueue& test_queue, Test test) : test_queue_(test_queue) {
  const std::lock_guard lock(test_queue_.mutex_);
  ticket_ = test_queue_.next_ticket_++;
  test_queue_.entries_.push_back({.ticket = ticket_, .test = std::move(test)});
}

TestQueue::Turn::~Turn() {
  const std::lock_guard lock(test_queue_.mutex_);
  test_queue_.entries_.remove_if([&](const Entry& entry) { return entry.ticket == ticket_; });
}

Result<> TestQueue::Turn::take() {
  const std::lock_guard lock(test_queue_.mutex_);
  const auto mine = std::ranges::find(test_queue_.entries_, ticket_, &Entry::ticket);
  const Entry* ahead = test_queue_.obstacle(*mine);
  if (ahead == nullptr && !test_queue_.has_room_for(*mine)) {
    return no_room();
  }
  if (ahead == nullptr) {
    mine->running = true;
    return {};
  }
  return fail(ErrorKind::Busy, "wait", "",
              fmt::format("another test {}: {}", ahead->running ? "is running" : "is ahead",
                          ahead->test.who),
              "try again when it is done");
}

Result<> TestQueue::Turn::grow(std::int64_t threads, std::int64_t bytes) {
  TRY(test_queue_.check({Weight::Light, threads, bytes}));
  const std::lock_guard lock(test_queue_.mutex_);
  const auto mine = std::ranges::find(test_queue_.entries_, ticket_, &Entry::ticket);
  const Demand before =
      std::exchange(mine->test.demand, Demand(mine->test.demand.weight, threads, bytes));
  if (test_queue_.has_room_for(*mine)) {
    return {};
  }
  mine->test.demand = before;
  return no_room();
}

Result<> TestQueue::check(const Demand& demand) const {
  const auto too_much = [](const std::string& asked, const std::string& granted) {
    return fail(ErrorKind::Exhausted, "test", "",
                fmt::format("it would take {}, and this server grants {} to all tests together",
                            asked, granted),
                "ask for less: fewer streams or queue pairs, a smaller --window or --depth");
  };
  if (demand.threads > capacity_.threads) {
    return too_much(fmt::format("{} threads", demand.threads), std::to_string(capacity_.threads));
  }
  if (demand.bytes > capacity_.bytes) {
    return too_much(
        fmt::format("{} of memory", math::format_bytes(static_cast<double>(demand.bytes))),
        math::format_bytes(static_cast<double>(capacity_.bytes)));
  }
  return {};
}

// An earlier test that waits only for room is counted, too: else small tests would pass it
// forever.
bool TestQueue::has_room_for(const Entry& entry) const {
  std::int64_t threads = entry.test.demand.threads;
  std::int64_t bytes = entry.test.demand.bytes;
  if (threads == 0 && bytes == 0) {
    return true;
  }
  for (const Entry& other : entries_) {
    const bool waits_for_room = other.ticket < entry.ticket && obstacle(other) == nullptr;
    if (other.ticket != entry.ticket && (other.running || waits_for_room)) {
      threads += other.test.demand.threads;
      bytes += other.test.demand.bytes;
    }
  }
  return threads <= capacity_.threads && bytes <= capacity_.bytes;
}

const TestQueue::Entry* TestQueue::obstacle(const Entry& entry) const {
  const auto blocks = [&](const Entry& other) {
    const bool earlier = other.running || other.ticket < entry.ticket;
    if (other.ticket == entry.ticket || !earlier) {
      return false;
    }
    if (exclusive_ && other.test.owner != entry.test.owner) {
      return true;
    }
    return fills_path(entry.test) && fills_path(other.test) &&
           !(shares(entry.test) && shares(other.test));
  };
  const auto found = std::ranges::find_if(entries_, blocks);
  return found == entries_.end() ? nullptr : &*found;
}

}  // namespace chokepoint::control
