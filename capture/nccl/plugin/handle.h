// What NCCL gets in place of pointers: numbers that say where an entry or a communicator stands in
// a table, and which use of that place is meant. Nothing that comes back is ever followed; a number
// that was not given out, or whose place has another use by now, is nobody's.
//
//   63      56 55                      20 19     14 13        0
//   ┌─────────┬──────────────────────────┬─────────┬───────────┐
//   │  magic  │ which use of the place   │  lane   │  place    │   never a pointer of this
//   └─────────┴──────────────────────────┴─────────┴───────────┘   machine: bits 63 to 57 differ
#pragma once

#include <bit>
#include <cstdint>

namespace chokepoint::capture::nccl::plugin {

struct Handle {
  std::uint64_t use = 0;  // from 1
  std::uint32_t lane = 0;
  std::uint32_t place = 0;
};

namespace handle {

inline constexpr std::uint64_t kPlaceBits = 14;
inline constexpr std::uint64_t kLaneBits = 6;
inline constexpr std::uint64_t kUseBits = 36;
inline constexpr std::uint64_t kMagicShift = kPlaceBits + kLaneBits + kUseBits;
inline constexpr std::uint64_t kEntry = 0xa5;
inline constexpr std::uint64_t kCommunicator = 0xa6;

constexpr std::uint64_t low(std::uint64_t bits) { return (std::uint64_t{1} << bits) - 1; }

constexpr std::uint64_t pack(std::uint64_t magic, const Handle& handle) {
  return magic << kMagicShift | (handle.use & low(kUseBits)) << (kPlaceBits + kLaneBits) |
         std::uint64_t{handle.lane} << kPlaceBits | handle.place;
}

constexpr bool is(std::uint64_t magic, std::uint64_t bits) { return bits >> kMagicShift == magic; }

constexpr Handle unpack(std::uint64_t bits) {
  return {.use = bits >> (kPlaceBits + kLaneBits) & low(kUseBits),
          .lane = static_cast<std::uint32_t>(bits >> kPlaceBits & low(kLaneBits)),
          .place = static_cast<std::uint32_t>(bits & low(kPlaceBits))};
}

// An entry's number in the records: never 0.
constexpr std::uint64_t id_of(std::uint64_t bits) { return bits & low(kMagicShift); }

inline std::uint64_t bits_of(const void* pointer) { return std::bit_cast<std::uint64_t>(pointer); }

inline void* pointer_of(std::uint64_t bits) { return std::bit_cast<void*>(bits); }

}  // namespace handle
}  // namespace chokepoint::capture::nccl::plugin
