#include "capture/flow/table.h"

#include <random>
#include <utility>

namespace chokepoint::capture::flow {
namespace {

constexpr std::size_t kFirstPlaces = 1'024;

std::uint64_t draw_secret() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

Table::Table(const Pool& pool)
    : pool_(pool), secret_(draw_secret()), places_(kFirstPlaces), mask_(kFirstPlaces - 1) {}

void Table::put(const Key& key, std::uint64_t hash, std::uint32_t slot) {
  if (2 * (used_ + 1) > places_.size()) {
    grow();
  }
  const auto high = static_cast<std::uint32_t>(hash >> 32);
  std::size_t at = hash & mask_;
  while (places_[at].slot != kNoSlot &&
         (places_[at].hash != high || pool_[places_[at].slot].key != key)) {
    at = (at + 1) & mask_;
  }
  used_ += places_[at].slot == kNoSlot ? 1 : 0;
  places_[at] = {.hash = high, .slot = slot};
}

void Table::remove(const Key& key, std::uint32_t slot) {
  for (std::size_t at = hash(key) & mask_; places_[at].slot != kNoSlot; at = (at + 1) & mask_) {
    if (places_[at].slot == slot) {
      places_[at] = {};
      --used_;
      close_gap(at);
      return;
    }
  }
}

// Moves back what a search would no longer reach.
void Table::close_gap(std::size_t gap) {
  for (std::size_t at = (gap + 1) & mask_; places_[at].slot != kNoSlot; at = (at + 1) & mask_) {
    const std::size_t home = hash(pool_[places_[at].slot].key) & mask_;
    if (((at - home) & mask_) >= ((at - gap) & mask_)) {
      places_[gap] = std::exchange(places_[at], {});
      gap = at;
    }
  }
}

void Table::grow() {
  std::vector<Place> old = std::exchange(places_, std::vector<Place>(places_.size() * 2));
  mask_ = places_.size() - 1;
  for (const Place& place : old) {
    if (place.slot == kNoSlot) {
      continue;
    }
    std::size_t at = hash(pool_[place.slot].key) & mask_;
    while (places_[at].slot != kNoSlot) {
      at = (at + 1) & mask_;
    }
    places_[at] = place;
  }
}

}  // namespace chokepoint::capture::flow
