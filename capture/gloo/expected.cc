#include "capture/gloo/expected.h"

#include <algorithm>

namespace chokepoint::capture::gloo {

namespace {

bool is_same_slot(const Message& a, const Message& b) {
  return a.kind == b.kind && a.tag == b.tag && a.delta == b.delta;
}

}  // namespace

std::int64_t moment_in(const Message& whole, std::uint64_t bytes) {
  const auto all = static_cast<double>(std::max<std::uint64_t>(whole.payload_bytes, 1));
  const auto span_ns = static_cast<double>(whole.last_byte_ns - whole.first_byte_ns);
  return whole.first_byte_ns +
         static_cast<std::int64_t>(span_ns * static_cast<double>(bytes) / all);
}

void Expected::remove(std::size_t place) {
  std::move(waiting_.begin() + static_cast<std::ptrdiff_t>(place) + 1,
            waiting_.begin() + static_cast<std::ptrdiff_t>(size_),
            waiting_.begin() + static_cast<std::ptrdiff_t>(place));
  --size_;
}

// What an earlier collective still waits for has passed unseen, or never will: few run at a time.
void Expected::forget_before(const Message& message) {
  constexpr std::uint32_t kMostAtATime = 8;
  for (std::size_t place = 0; place < size_;) {
    const Message& buffer = waiting_[place].buffer;
    const bool is_old = buffer.kind != Kind::PointToPoint && message.kind != Kind::PointToPoint &&
                        buffer.tag + kMostAtATime < message.tag;
    if (is_old) {
      remove(place);
    } else {
      ++place;
    }
  }
}

void Expected::announce(const Message& ready) {
  const bool is_announcement = ready.opcode == Opcode::SendReady;
  for (std::size_t place = 0; place < size_; ++place) {
    Waiting& waiting = waiting_[place];
    bool& has_come = is_announcement ? waiting.is_announced : waiting.is_credited;
    if (!has_come && is_same_slot(waiting.buffer, ready)) {
      has_come = true;
      waiting.buffer.first_byte_ns = ready.first_byte_ns;
      return;
    }
  }
  forget_before(ready);
  if (size_ == kMost) {
    remove(0);
  }
  Waiting& waiting = waiting_[size_++];
  waiting.buffer = ready;
  waiting.buffer.opcode = Opcode::UnboundBuffer;
  waiting.buffer.payload_bytes = ready.announced_bytes;
  waiting.buffer.announced_bytes = 0;
  waiting.buffer.is_whole = false;
  waiting.is_announced = is_announcement;
  waiting.is_credited = !is_announcement;
}

void Expected::arrived(const Message& buffer) {
  for (std::size_t place = 0; place < size_; ++place) {
    if (is_same_slot(waiting_[place].buffer, buffer)) {
      remove(place);
      return;
    }
  }
}

}  // namespace chokepoint::capture::gloo
