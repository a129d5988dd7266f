// The segments of one direction that are not acknowledged yet, oldest first: where each ended, when
// it passed, and by what it is known again. Answers for which segment an acknowledgement is the
// first, and whether a packet is one seen before, to the IP ID. Grows by doubling up to a bound;
// then new segments are added to the last one, or, where the peer's acknowledgements are not seen,
// the oldest are forgotten. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "capture/flow/budget.h"
#include "capture/flow/stream_position.h"

namespace chokepoint::capture::flow {

struct Sent {
  Position end = 0;
  std::int64_t time_ns = 0;
  std::uint32_t length = 0;
  std::uint16_t ip_id = 0;
  std::uint16_t checksum = 0;

  Position begin() const { return end - length; }
};

class SentLog {
 public:
  static constexpr std::size_t kFewest = 16;
  static constexpr std::size_t kMost = 16'384;

  explicit SentLog(Budget& budget) : share_(budget) {}

  bool empty() const { return first_ == past_; }
  std::size_t count() const { return past_ - first_; }
  const Sent& oldest() const { return at(first_); }

  void add(const Sent& sent, bool acknowledgements_seen) {
    if (count() == capacity_ && !make_room(sent, acknowledgements_seen)) {
      return;
    }
    at(past_++) = sent;
  }

  // Forgets what ends at or below the position.
  void forget_below(Position position) {
    while (first_ != past_ && at(first_).end <= position) {
      ++first_;
    }
  }

  // The segment that holds the byte at this position, or none. Some that were forgotten lately are
  // found, too: a copy may come after the acknowledgement.
  const Sent* find(Position position) const;

 private:
  Sent& at(std::size_t index) { return segments_[index & (capacity_ - 1)]; }
  const Sent& at(std::size_t index) const { return segments_[index & (capacity_ - 1)]; }
  bool make_room(const Sent& sent, bool acknowledgements_seen);
  void grow();
  std::size_t first_remembered() const;

  std::unique_ptr<Sent[]> segments_;
  std::size_t capacity_ = 0;
  std::size_t first_ = 0;
  std::size_t past_ = 0;
  Share share_;
};

}  // namespace chokepoint::capture::flow
