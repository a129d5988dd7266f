#include "capture/packet/fragments.h"

#include <algorithm>

namespace chokepoint::capture::packet {
namespace {

// Clocks step back: an age is counted either way.
bool is_recent(std::int64_t then, std::int64_t now) {
  constexpr std::uint64_t kValid = 30'000'000'000;
  const std::uint64_t age = static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(then);
  return std::min(age, std::uint64_t{0} - age) <= kValid;
}

// The piece's place in the stream. The segment begins and ends once: SYN stays with the first
// piece, FIN goes to the last.
Tcp moved_on(Tcp tcp, std::uint32_t bytes, bool is_last) {
  const bool has_fin = tcp.has(kFin) && is_last;
  tcp.sequence += bytes + (tcp.has(kSyn) ? 1 : 0);
  tcp.flags &= kAck;
  tcp.flags |= has_fin ? kFin : 0;
  tcp.options &= kHasTimestamps;
  tcp.sack_blocks = 0;
  return tcp;
}

}  // namespace

bool Fragments::First::is_of(const Packet& packet, const Piece& piece) const {
  return kind != Kind::NotIp && id == piece.id && protocol == piece.protocol &&
         ends.source == packet.ends.source && ends.destination == packet.ends.destination &&
         ends.is_ipv6 == packet.ends.is_ipv6 && ends.tunnel == packet.ends.tunnel;
}

std::size_t Fragments::set_of(const Packet& packet, const Piece& piece) {
  constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
  std::uint64_t mixed = piece.id;
  for (const std::uint64_t word :
       {packet.ends.source.words[0], packet.ends.source.words[1], packet.ends.destination.words[0],
        packet.ends.destination.words[1]}) {
    mixed = (mixed ^ word) * kOdd;
    mixed ^= mixed >> 29;
  }
  return mixed % kSets;
}

void Fragments::remember(const Packet& packet, const Piece& piece, std::uint32_t before) {
  Set& set = sets_[set_of(packet, piece)];
  const auto same = std::ranges::find_if(
      set.places, [&](const First& first) { return first.is_of(packet, piece); });
  First* place = same != set.places.end() ? &*same : nullptr;
  if (place == nullptr) {
    place = &set.places[set.next];
    set.next = (set.next + 1) % kPlaces;
  }
  *place = {.time_ns = packet.time_ns,
            .ends = packet.ends,
            .tcp = packet.tcp,
            .id = piece.id,
            .before = before,
            .kind = packet.kind,
            .protocol = piece.protocol};
}

bool Fragments::complete(Packet& later, const Piece& piece) const {
  for (const First& first : sets_[set_of(later, piece)].places) {
    if (!first.is_of(later, piece)) {
      continue;
    }
    if (piece.offset < first.before || !is_recent(first.time_ns, later.time_ns)) {
      return false;
    }
    later.ends = first.ends;
    later.kind = first.kind;
    if (first.kind == Kind::Tcp) {
      later.tcp = moved_on(first.tcp, piece.offset - first.before, piece.is_last);
    }
    return true;
  }
  return false;
}

}  // namespace chokepoint::capture::packet
