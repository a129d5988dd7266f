#include "probe/path/stamp.h"

#include <arpa/inet.h>

#include <cstring>

namespace chokepoint::probe::path {
namespace {

constexpr std::uint32_t kProbe = 0x636b7070;  // "ckpp"
constexpr std::uint32_t kEcho = 0x636b7065;   // "ckpe"
constexpr std::size_t kNonceAt = 4;
constexpr std::size_t kSequenceAt = 8;

void put(std::span<std::byte> into, std::size_t at, std::uint32_t value) {
  const std::uint32_t wire = htonl(value);
  std::memcpy(into.data() + at, &wire, sizeof(wire));
}

std::uint32_t get(std::span<const std::byte> from, std::size_t at) {
  std::uint32_t wire = 0;
  std::memcpy(&wire, from.data() + at, sizeof(wire));
  return ntohl(wire);
}

}  // namespace

void write_stamp(std::span<std::byte> into, const Stamp& stamp) {
  put(into, 0, stamp.kind == StampKind::Probe ? kProbe : kEcho);
  put(into, kNonceAt, stamp.nonce);
  put(into, kSequenceAt, stamp.sequence);
}

std::optional<Stamp> read_stamp(std::span<const std::byte> from) {
  if (from.size() < kStampBytes) {
    return std::nullopt;
  }
  const std::uint32_t magic = get(from, 0);
  if (magic != kProbe && magic != kEcho) {
    return std::nullopt;
  }
  return Stamp{.kind = magic == kProbe ? StampKind::Probe : StampKind::Echo,
               .nonce = get(from, kNonceAt),
               .sequence = get(from, kSequenceAt)};
}

}  // namespace chokepoint::probe::path
