// What one direction has sent, to recognise what comes again and to measure round trips: its
// segments (SentLog), packets that were no new data (Copies), timestamps (Echoes). Owned by a Half,
// used by the engine's thread. Bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "capture/flow/budget.h"
#include "capture/flow/loss.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::flow {

struct Sent {
  Position end = 0;
  std::int64_t time_ns = 0;
  std::uint32_t length = 0;
  std::uint16_t ip_id = 0;
  std::uint16_t checksum = 0;

  Position begin() const { return end - length; }
};

// The segments that are not acknowledged yet, oldest first: where each ended, when it passed, and
// what identifies it. Answers which segment an acknowledgement is the first for, and whether a
// packet was seen before, down to the IP ID. Grows by doubling up to a bound; then new segments are
// added to the last one, or, if the peer's acknowledgements are not seen, the oldest are dropped.
class SentLog {
 public:
  static constexpr std::size_t kMinSegments = 16;
  static constexpr std::size_t kMaxSegments = 16'384;

  explicit SentLog(Budget& budget) : share_(budget) {}

  bool empty() const { return first_ == past_; }
  std::size_t count() const { return past_ - first_; }
  const Sent& oldest() const { return at(first_); }

  void add(const Sent& sent, bool acknowledgements_seen) {
    if (count() == capacity_ && !make_room(sent, acknowledgements_seen)) {
      return;
    }
    // Member by member: as a whole it would be put together on the stack and read again from there.
    Sent& place = at(past_++);
    place.end = sent.end;
    place.time_ns = sent.time_ns;
    place.length = sent.length;
    place.ip_id = sent.ip_id;
    place.checksum = sent.checksum;
  }

  // Removes segments that end at or below the position.
  void forget_below(Position position) {
    while (first_ != past_ && at(first_).end <= position) {
      ++first_;
    }
  }

  // The segment that holds the byte at this position, or null. Finds some that were acknowledged
  // lately, too: a copy may come after the acknowledgement.
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

// 0: it has none.
inline std::uint16_t id_of(const packet::Packet& packet) {
  return packet.has_ip_id ? packet.ip_id : std::uint16_t{0};
}

// Recognises a packet that was seen already: the network copied it, or the capture did (two
// interfaces, a bond and its slave). A sender gives every packet its own IP ID, so the same ID with
// the same numbers is the same packet, and another ID is a retransmission. Without IDs (IPv6, or
// 0), an equal packet is only a copy if it came on another interface. Remembers the last few
// packets that were no new data.
class Copies {
 public:
  // True if this packet is among the remembered ones; else it is remembered.
  bool saw(const packet::Packet& packet) {
    const std::uint16_t id = id_of(packet);
    const bool is_marked = id != 0;
    const std::uint64_t numbers =
        std::uint64_t{packet.tcp.sequence} << 32 | packet.tcp.acknowledgement;
    const std::uint64_t rest = std::uint64_t{packet.payload_bytes} << 32 |
                               std::uint64_t{packet.tcp.window} << 16 |
                               (is_marked ? id : packet.tcp.timestamp & 0xffff);
    for (const Mark& each : recent_) {
      if (each.numbers == numbers && each.rest == rest &&
          (is_marked || each.interface != packet.interface)) {
        return true;
      }
    }
    Mark& mark = recent_[next_];
    mark.numbers = numbers;
    mark.rest = rest;
    mark.interface = packet.interface;
    next_ = static_cast<std::uint8_t>((next_ + 1) % kRemembered);
    return false;
  }

 private:
  static constexpr std::size_t kRemembered = 4;

  struct Mark {
    std::uint64_t numbers = 0;
    std::uint64_t rest = 0;
    std::uint32_t interface = 0;
  };

  std::array<Mark, kRemembered> recent_{};
  std::uint8_t next_ = 0;
};

// Round trips by TCP's timestamp option: each new value of one side is remembered with the time at
// which it passed, until the other side returns it. One sample per value. If more values are in
// flight than fit, only some are followed.
class Echoes {
 public:
  static constexpr std::size_t kMaxValues = 64;

  explicit Echoes(Budget& budget) : share_(budget) { share_.grow(sizeof(Echoes)); }

  void sent(std::uint32_t value, std::int64_t time_ns) {
    if ((is_begun_ && static_cast<std::int32_t>(value - newest_) <= 0) ||
        past_ - first_ == kMaxValues) {
      return;
    }
    is_begun_ = true;
    newest_ = value;
    waiting_[past_++ % kMaxValues] = {value, time_ns};
  }

  // The other side returned this value. How long that took; nullopt if the value was not
  // remembered.
  std::optional<std::int64_t> returned(std::uint32_t value, std::int64_t time_ns) {
    while (first_ != past_) {
      const Waiting& oldest = waiting_[first_ % kMaxValues];
      const auto ahead = static_cast<std::int32_t>(oldest.value - value);
      if (ahead > 0) {
        return std::nullopt;
      }
      ++first_;
      if (ahead == 0) {
        return time_ns - oldest.time_ns;
      }
    }
    return std::nullopt;
  }

 private:
  struct Waiting {
    std::uint32_t value = 0;
    std::int64_t time_ns = 0;
  };

  std::array<Waiting, kMaxValues> waiting_{};
  std::uint32_t newest_ = 0;
  bool is_begun_ = false;
  std::size_t first_ = 0;
  std::size_t past_ = 0;
  Share share_;
};

}  // namespace chokepoint::capture::flow
