// What a relay and chokepoint say to each other over a pair of SOCK_SEQPACKET sockets:
//
//   chokepoint ── Note: Started, pid of the job ──▶ relay     before the first output
//   chokepoint ── Note: Resized ──────────────────▶ relay     the terminal has another size
//   relay ── Header: Piece, bytes ────────────────▶ chokepoint, again and again
//   chokepoint ── Note: Ended ────────────────────▶ relay     the command has ended
//   relay ── Header: Drained ─────────────────────▶ chokepoint: what it printed is out
//
// Either may close its end at any time. The relay sends pieces only where there is room.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chokepoint::capture::job {

enum class NoteKind : std::int32_t { Started, Resized, Ended };

struct Note {
  NoteKind kind = NoteKind::Started;
  std::int32_t pid = 0;
};

enum class HeaderKind : std::int32_t { Piece, Drained };

struct Header {
  HeaderKind kind = HeaderKind::Piece;
  std::int32_t unused = 0;
  std::int64_t t_ns = 0;
  std::uint64_t missed = 0;  // pieces that found no room, so far
};

inline constexpr std::size_t kLargestPiece = 65536;

}  // namespace chokepoint::capture::job
