#include "capture/nccl/plugin/message_counts.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

constexpr std::uint64_t kTaken = std::uint64_t{1} << 63;

std::uint64_t key_of(std::uint64_t communicator, int peer, bool is_received) {
  return kTaken | (is_received ? std::uint64_t{1} << 48 : 0) | (communicator & 0xffff) << 32 |
         static_cast<std::uint32_t>(peer);
}

// Multiplied by 2^64 divided by the golden ratio, whose high bits differ for keys that are close.
std::size_t first_place(std::uint64_t key) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
  return static_cast<std::size_t>(key * kGolden >> 40) % MessageCounts::kPlaces;
}

}  // namespace

std::uint64_t MessageCounts::next(std::uint64_t communicator, int peer, bool is_received) {
  const std::uint64_t key = key_of(communicator, peer, is_received);
  const std::size_t first = first_place(key);
  for (std::size_t step = 0; step < kMaxProbes; ++step) {
    Place& place = places_[(first + step) % kPlaces];
    std::uint64_t found = place.key.load(std::memory_order_relaxed);
    if (found == 0 && place.key.compare_exchange_strong(found, key, std::memory_order_relaxed)) {
      found = key;
    }
    if (found == key) {
      return place.count.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return kNone;
}

}  // namespace chokepoint::capture::nccl::plugin
