#include "capture/gloo/follower.h"

#include <algorithm>

namespace chokepoint::capture::gloo {

namespace {

Kind kind_of(const Header& header) {
  return header.is_point_to_point() ? Kind::PointToPoint : static_cast<Kind>(header.prefix());
}

std::span<const std::uint8_t> captured_from(const Piece& piece, std::uint64_t offset) {
  const std::uint64_t before = offset - piece.offset;
  return before < piece.captured.size() ? piece.captured.subspan(before)
                                        : std::span<const std::uint8_t>();
}

}  // namespace

// Adds the part of the header that lies in this piece to what was there before.
Follower::Read Follower::read(const Piece& piece, std::uint64_t end) {
  const std::uint64_t from = next_header_ + partial_bytes_;
  if (piece.offset > from) {
    return Read::Missed;
  }
  const auto captured = captured_from(piece, from);
  const std::size_t wanted = kHeaderBytes - partial_bytes_;
  const std::size_t taken = std::min(wanted, captured.size());
  std::copy_n(captured.begin(), taken, partial_.begin() + partial_bytes_);
  header_ns_ = partial_bytes_ == 0 ? piece.time_ns : header_ns_;
  partial_bytes_ = static_cast<std::uint8_t>(partial_bytes_ + taken);
  if (taken < wanted) {
    return from + taken == end ? Read::Part : Read::Missed;
  }
  const auto header = read_header(partial_);
  if (!header) {
    return Read::Missed;
  }
  open(*header, header_ns_);
  return Read::Whole;
}

void Follower::open(const Header& header, std::int64_t first_byte_ns) {
  message_.kind = kind_of(header);
  has_point_to_point_ |= header.is_point_to_point();
  message_.opcode = static_cast<Opcode>(header.opcode);
  message_.tag =
      header.is_point_to_point() ? static_cast<std::uint32_t>(header.slot) : header.tag();
  message_.delta = header.is_point_to_point() ? 0 : header.delta();
  message_.payload_bytes = header.message_bytes - kHeaderBytes;
  message_.announced_bytes = header.opcode >= 2 ? header.length : 0;
  message_.first_byte_ns = first_byte_ns;
  message_.last_byte_ns = first_byte_ns;
  message_.is_whole = false;
  next_header_ += header.message_bytes;
  partial_bytes_ = 0;
  is_open_ = true;
  has_missed_ = false;
}

void Follower::lose(const Piece& piece) {
  is_following_ = false;
  has_missed_ = true;
  missed_from_ = next_header_;
  header_ns_ = partial_bytes_ == 0 ? piece.time_ns : header_ns_;
  partial_bytes_ = 0;
  highest_ns_ = piece.time_ns;
  highest_ = std::max(highest_, next_header_);
  ++missed_headers_;
}

bool Follower::is_pause_behind_headers(const Piece& piece) const {
  return has_missed_ && highest_ > missed_from_ && highest_ - missed_from_ <= kMaxReadyBytes &&
         piece.time_ns - highest_ns_ > kPauseNs;
}

bool Follower::read_late(const Piece& piece) {
  if (missed_from_ != next_header_ || piece.offset > next_header_ ||
      piece.offset + piece.bytes <= next_header_) {
    return false;
  }
  const auto header = read_header(captured_from(piece, next_header_));
  if (!header) {
    return false;
  }
  open(*header, piece.time_ns);
  return true;
}

bool Follower::find_again(const Piece& piece) {
  const auto begins_at = [&](std::size_t skipped) {
    const auto header = read_header(captured_from(piece, piece.offset + skipped));
    return header && (is_first_header(piece.offset) || has_point_to_point_ || is_sure(*header));
  };
  const bool has_greeting = piece.offset == 0 && !begins_at(0) && begins_at(kGreetingBytes);
  if (!has_greeting && !begins_at(0)) {
    return false;
  }
  next_header_ = piece.offset + (has_greeting ? kGreetingBytes : 0);
  highest_ = piece.offset;
  partial_bytes_ = 0;
  has_missed_ = false;
  is_following_ = true;
  return true;
}

Message Follower::unknown_until(std::uint64_t offset) const {
  Message message;
  message.payload_bytes = offset > missed_from_ ? offset - missed_from_ : 0;
  message.first_byte_ns = header_ns_;
  message.last_byte_ns = highest_ns_;
  return message;
}

}  // namespace chokepoint::capture::gloo
