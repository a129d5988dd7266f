#include "tests/lab/wire/direction.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tests/lab/wire/data_frame.h"
#include "tests/lab/wire/wire_size.h"

namespace chokepoint::lab {
namespace {

constexpr int kBatch = 16;
// What is on the way at 20 Gb/s and 50 ms; pages that are never used cost nothing.
constexpr std::size_t kRingBytes = 128U << 20U;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kLateNs = 1'000'000;  // what comes late passes no more than this later

}  // namespace

Direction::Direction(const Tap& from, const Tap& to, const DirectionSettings& settings,
                     std::uint64_t seed)
    : from_(from),
      to_(to),
      shaper_(settings, seed),
      orders_(settings.orders),
      queue_(kRingBytes, kLongestFrame),
      random_(seed + 1) {}

void Direction::take(std::int64_t now_ns) {
  for (int taken = 0; taken < kBatch; ++taken) {
    const auto room = queue_.room();
    if (room.empty()) {
      return;
    }
    const auto length = from_.read(room);
    if (!length) {
      return;
    }
    dispose(room.first(*length), now_ns);
  }
}

void Direction::dispose(std::span<const std::byte> frame, std::int64_t now_ns) {
  const bool can_be_late = shaper_.settings().late > 0;
  if ((orders_.empty() && !can_be_late) || !carries_data(frame)) {
    send(frame, now_ns);
    return;
  }
  if (can_be_late && draws_late()) {
    held_.push_back(
        {.data = {frame.begin(), frame.end()}, .until = kNever, .until_ns = now_ns + kLateNs});
    return;
  }
  const Fate fate = orders_.next();
  if (fate == Fate::HoldBack) {
    held_.push_back({.data = {frame.begin(), frame.end()},
                     .until = orders_.held_until(),
                     .until_ns = std::numeric_limits<std::int64_t>::max()});
  } else if (fate != Fate::Drop) {
    send(frame, now_ns);
  }
  if (fate == Fate::Duplicate) {
    send(frame, now_ns);
  }
  send_held(orders_.counted(), now_ns);
}

// The frame stands where the queue has room, or elsewhere.
void Direction::send(std::span<const std::byte> frame, std::int64_t now_ns) {
  const auto room = queue_.room();
  const WireSize size = wire_size(frame);
  const auto due_ns = room.empty() ? std::nullopt : shaper_.offer(now_ns, size);
  if (due_ns) {
    std::memmove(room.data(), frame.data(), room.data() == frame.data() ? 0 : frame.size());
    queue_.push(frame.size(), *due_ns, size);
  }
}

bool Direction::draws_late() {
  return std::uniform_real_distribution<double>{0, 1}(random_) < shaper_.settings().late;
}

void Direction::send_held(std::uint64_t counted, std::int64_t now_ns) {
  const auto may_go = [&](const Held& held) {
    return held.until <= counted || held.until_ns <= now_ns;
  };
  for (const Held& held : held_) {
    if (may_go(held)) {
      send(held.data, now_ns);
    }
  }
  std::erase_if(held_, may_go);
}

void Direction::change(const DirectionSettings& settings, std::int64_t now_ns) {
  send_held(kNever, now_ns);
  orders_.change(settings.orders);
  shaper_.change(settings);
}

void Direction::release(std::int64_t now_ns) {
  send_held(orders_.counted(), now_ns);
  while (!queue_.empty() && queue_.next_due_ns() <= now_ns) {
    const FrameQueue::Frame frame = queue_.front();
    if (shaper_.is_cut() || !to_.write(frame.data)) {
      shaper_.lost_behind(frame.size);
    }
    queue_.pop();
  }
}

std::optional<std::int64_t> Direction::next_due_ns() const {
  std::optional<std::int64_t> due;
  if (!queue_.empty()) {
    due = queue_.next_due_ns();
  }
  for (const Held& held : held_) {
    if (held.until == kNever) {
      due = std::min(due.value_or(held.until_ns), held.until_ns);
    }
  }
  return due;
}

}  // namespace chokepoint::lab
