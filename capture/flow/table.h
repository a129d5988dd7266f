// Finds a flow's slot by its key: open addressing with linear probing, at most half full. The hash
// is kept beside the slot, so that keys are compared only where they are very likely the same; they
// always are compared. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/flow/key.h"
#include "capture/flow/pool.h"

namespace chokepoint::capture::flow {

class Table {
 public:
  explicit Table(const Pool& pool);

  std::uint64_t hash(const Key& key) const { return hash_of(key, secret_); }

  // The slot of this key's flow, or kNoSlot.
  std::uint32_t find(const Key& key, std::uint64_t hash) const {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Place& place = places_[at];
      if (place.slot == kNoSlot) {
        return kNoSlot;
      }
      if (place.hash == static_cast<std::uint32_t>(hash >> 32) && pool_[place.slot].key == key) {
        return place.slot;
      }
    }
  }

  // The key's flow is in this slot from now on.
  void put(const Key& key, std::uint64_t hash, std::uint32_t slot);
  // Takes the key out where it leads to this slot.
  void remove(const Key& key, std::uint32_t slot);

 private:
  struct Place {
    std::uint32_t hash = 0;
    std::uint32_t slot = kNoSlot;
  };

  void grow();
  void close_gap(std::size_t gap);

  const Pool& pool_;
  std::uint64_t secret_;
  std::vector<Place> places_;
  std::size_t mask_;
  std::size_t used_ = 0;
};

}  // namespace chokepoint::capture::flow
