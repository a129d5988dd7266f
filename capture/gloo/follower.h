// Follows Gloo's messages inside one direction of a TCP stream. Each begins with 48 bytes:
//
//   0        8        16       24       32       40       48
//   | nbytes | opcode | slot   | offset | length | roffset | payload: nbytes − 48 …
//
// six u64 in the sender's byte order; nbytes includes the header. So one header gives the position
// of the next, and the payload need not be captured:
//
//   Following ──── the next header is captured ────────────────────────────────────▶ Following
//       │ it lies behind the snapshot length, or the capture lost it
//       ▼
//   Lost ──── a segment begins with a header, or the missing bytes come late ──────▶ Following
//
// What passed while lost is reported as one message of unknown kind; there may have been several. A
// few headers' bytes before a pause are reported separately, so that later bytes keep their time.
//
// One per direction, owned by the flow's follower (capture/observer), used by its thread. Fixed
// memory, no allocation.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "capture/gloo/message.h"

namespace chokepoint::capture::gloo {

// A piece of the stream: new data only, without retransmissions.
struct Piece {
  std::int64_t time_ns = 0;
  std::uint64_t offset = 0;  // of the first byte, counted from the connection's first, unwrapped
  std::uint32_t bytes = 0;   // on the wire
  std::span<const std::uint8_t> captured = {};  // the beginning of them
};

class Follower {
 public:
  // Calls `on_message(const Message&)` for each message that ends in this piece, in order.
  template <class OnMessage>
  void take(const Piece& piece, OnMessage&& on_message) {
    const std::uint64_t end = piece.offset + piece.bytes;
    if (is_following_ && end < next_header_) {
      arrived(piece, end);
    } else if (end <= kMaxStreamBytes && piece.offset <= end) {
      take_header(piece, end, on_message);
    }
  }

  // The stream is over: reports what is open, or passed while lost, as far as it was seen.
  template <class OnMessage>
  void finish(OnMessage&& on_message) {
    if (is_open_) {
      is_open_ = false;
      on_message(message_);
    } else if (has_missed_ && highest_ > missed_from_) {
      on_message(unknown_until(highest_));
      has_missed_ = false;
    }
  }

  bool is_following() const { return is_following_; }
  std::uint64_t missed_headers() const { return missed_headers_; }

 private:
  // Larger offsets are wrong, such as those before the stream's first byte.
  static constexpr std::uint64_t kMaxStreamBytes = std::uint64_t{1} << 62;
  static constexpr std::int64_t kPauseNs = 2'000'000;

  enum class Read : std::uint8_t { Whole, Part, Missed };

  template <class OnMessage>
  void take_header(const Piece& piece, std::uint64_t end, OnMessage& on_message);
  template <class OnMessage>
  void catch_up(const Piece& piece, std::uint64_t end, OnMessage& on_message);
  template <class OnMessage>
  void close(const Piece& piece, OnMessage& on_message) {
    message_.last_byte_ns = piece.time_ns;
    message_.is_whole = piece.offset < next_header_ || message_.payload_bytes == 0;
    is_open_ = false;
    on_message(message_);
  }

  void arrived(const Piece& piece, std::uint64_t end) {
    message_.last_byte_ns = piece.time_ns;
    highest_ = std::max(highest_, end);
  }
  Read read(const Piece& piece, std::uint64_t end);
  void open(const Header& header, std::int64_t first_byte_ns);
  void lose(const Piece& piece);
  bool read_late(const Piece& piece);
  bool find_again(const Piece& piece);
  bool is_pause_behind_headers(const Piece& piece) const;
  Message unknown_until(std::uint64_t offset) const;

  bool is_following_ = false;
  bool is_open_ = false;             // message_ has begun and not ended
  bool has_missed_ = false;          // the header at next_header_ was not read
  bool has_point_to_point_ = false;  // send() and receive() were seen on it
  std::uint8_t partial_bytes_ = 0;   // of the header that is being assembled
  std::uint64_t next_header_ = 0;
  std::uint64_t missed_from_ = 0;  // first missed byte that was not reported yet
  std::uint64_t highest_ = 0;      // end of what was seen
  std::int64_t header_ns_ = 0;
  std::int64_t highest_ns_ = 0;
  std::uint64_t missed_headers_ = 0;
  Message message_;
  std::array<std::uint8_t, kHeaderBytes> partial_{};
};

template <class OnMessage>
void Follower::take_header(const Piece& piece, std::uint64_t end, OnMessage& on_message) {
  while (is_following_) {
    if (is_open_ && std::max(end, highest_) >= next_header_) {
      close(piece, on_message);
    }
    if (end <= next_header_ + partial_bytes_) {
      arrived(piece, end);
      return;
    }
    switch (read(piece, end)) {
      case Read::Part:
        arrived(piece, end);
        return;
      case Read::Missed:
        lose(piece);
        break;
      case Read::Whole:
        break;
    }
  }
  catch_up(piece, end, on_message);
}

template <class OnMessage>
void Follower::catch_up(const Piece& piece, std::uint64_t end, OnMessage& on_message) {
  while (has_missed_ && read_late(piece)) {
    is_following_ = highest_ <= next_header_;
    has_missed_ = !is_following_;
    if (is_following_) {
      take_header(piece, end, on_message);
      return;
    }
    close(piece, on_message);
  }
  if (piece.offset < highest_) {
    highest_ = std::max(highest_, end);
    return;
  }
  const std::uint64_t missed_until = piece.offset;
  const Message missed = unknown_until(missed_until);
  const bool is_something_missed = has_missed_ && missed_until > missed_from_;
  if (find_again(piece)) {
    if (is_something_missed) {
      on_message(missed);
    }
    take_header(piece, end, on_message);
    return;
  }
  if (is_pause_behind_headers(piece)) {
    on_message(unknown_until(highest_));
    missed_from_ = highest_;
    header_ns_ = piece.time_ns;
  }
  highest_ = end;
  highest_ns_ = piece.time_ns;
}

}  // namespace chokepoint::capture::gloo
