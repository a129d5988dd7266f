// The events that are under way, and the handles by which NCCL names them. Each lane has a table of
// entries, used round and round. Only the lane's thread takes a place; any thread may end the event
// in it, so all words are atomics, and one word holds the state, by which threads may write:
//
//   Free ─▶ Busy ─▶ Live ─▶ Busy ─▶ Over ─▶ Busy …        a place in use again is another use
//         taken   begun   ended by one   still named as a parent, until it is taken again
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl::plugin {

// What NCCL gets in place of pointers: numbers made of the place of an entry or a communicator in
// its table, and of the use of that place. They are never dereferenced; a number that was never
// handed out, or whose place has another use by now, is ignored.
//
//   63      56 55                      20 19     14 13        0
//   ┌─────────┬──────────────────────────┬─────────┬───────────┐
//   │  magic  │ which use of the place   │  lane   │  place    │   never a pointer of this
//   └─────────┴──────────────────────────┴─────────┴───────────┘   machine: bits 63 to 57 differ
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

inline constexpr auto kRelaxed = std::memory_order_relaxed;

inline constexpr std::size_t kEntries = std::size_t{1} << handle::kPlaceBits;

// A job that runs ahead of its GPU has thousands of Proxies waiting, which begin and end one after
// the other; Steps and Kernels come and go meanwhile, and have places of their own.
struct Shelf {
  std::uint32_t first = 0;
  std::uint32_t places = 0;
  std::uint32_t cursor = 0;
};
inline constexpr std::uint32_t kBriefEntries = 4'096;
inline constexpr Shelf kLasting = {.first = 0, .places = kEntries - kBriefEntries};
inline constexpr Shelf kBrief = {.first = kLasting.places, .places = kBriefEntries};

enum class What : std::uint8_t { Collective, Message, Proxy, Step, Kernel, Foreign };
enum class Phase : std::uint8_t { Free, Busy, Live, Over };

// An entry's word of state: the use, what it is, the phase.
struct EntryState {
  std::uint64_t use = 0;
  What what = What::Foreign;
  Phase phase = Phase::Free;

  static constexpr EntryState of(std::uint64_t word) {
    return {.use = word >> 16,
            .what = static_cast<What>(word >> 8 & 0xff),
            .phase = static_cast<Phase>(word & 0xff)};
  }
  constexpr std::uint64_t word() const {
    return use << 16 | static_cast<std::uint64_t>(what) << 8 | static_cast<std::uint64_t>(phase);
  }
  constexpr EntryState in(Phase next) const { return {.use = use, .what = what, .phase = next}; }
};

struct alignas(128) Entry {
  Word state;
  Word communicator;  // its handle
  Word next;          // the next profiler's handle; 0: it has none
  // Of Proxy and Kernel the collective's id, of Step the Proxy's handle; 0: not known.
  Word parent;
  Word begin_ns;
  // Proxy and Kernel
  Word channel;  // as in the record
  union Rest {
    struct Proxy {
      Word peer, gpu_ns, network_ns, peer_ns, flush_ns, transferred, steps, first_data_ns,
          first_taken_ns;
    } proxy;
    struct Step {
      Word wait, since_ns, transferred;
    } step;
    struct Kernel {
      Word gpu_begin, gpu_end;
    } kernel;

    Rest() : proxy{} {}
  } rest;
};
static_assert(sizeof(Entry) == 128);

using Entries = std::array<Entry, kEntries>;

// Takes the next free place among the next few; null if all of these are in use. `gone`: whether a
// communicator has ended, so that its entries may be taken though they never ended.
template <typename Gone>
Entry* take(Entries& entries, Shelf& shelf, What what, EntryState& taken, Gone&& gone) {
  constexpr int kTries = 32;
  for (int tries = 0; tries < kTries; ++tries) {
    Entry& entry = entries[shelf.first + shelf.cursor];
    shelf.cursor = shelf.cursor + 1 == shelf.places ? 0 : shelf.cursor + 1;
    std::uint64_t word = entry.state.load(std::memory_order_acquire);
    const EntryState state = EntryState::of(word);
    if (state.phase == Phase::Busy ||
        (state.phase == Phase::Live && !gone(entry.communicator.load(kRelaxed)))) {
      continue;
    }
    taken = {.use = (state.use + 1) & handle::low(handle::kUseBits), .what = what};
    taken.use += taken.use == 0 ? 1 : 0;
    if (entry.state.compare_exchange_strong(word, taken.in(Phase::Busy).word(),
                                            std::memory_order_acq_rel)) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace chokepoint::capture::nccl::plugin
