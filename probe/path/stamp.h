// What a UDP probe carries, so that an ICMP error that quotes it, or an echo of it, tells which
// probe it was. Network order; the rest of a probe is zeros, an echo has no rest:
//
//   0          4          8           12
//   │ "ckpp"   │ nonce    │ sequence  │ zeros …     a probe
//   │ "ckpe"   │ nonce    │ sequence  │             its echo, by a peer that takes part
//
// The nonce is the sender's own: neither what another trace between the same hosts left behind nor
// the peer's own probes are taken for an answer. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace chokepoint::probe::path {

constexpr std::size_t kStampBytes = 12;

enum class StampKind { Probe, Echo };

struct Stamp {
  StampKind kind = StampKind::Probe;
  std::uint32_t nonce = 0;
  std::uint32_t sequence = 0;
};

// `into` holds at least kStampBytes.
void write_stamp(std::span<std::byte> into, const Stamp& stamp);

// Nothing where it is none, or not the whole of one.
std::optional<Stamp> read_stamp(std::span<const std::byte> from);

}  // namespace chokepoint::probe::path
