// The flows of the latest packets, found by their ports alone in one step: most packets belong to
// one of few flows, and the way through the table is a chain of loads that each wait for the one
// before. The key is compared by value, as in the table. One thread.
#pragma once

#include <array>
#include <cstdint>

#include "capture/flow/flow.h"

namespace chokepoint::capture::flow {

class Recent {
 public:
  struct Place {
    Flow* flow = nullptr;
    std::uint32_t slot = 0;
  };

  // A flow with this key, or none.
  const Place* find(const Key& key) const {
    const Place& place = places_[index(key)];
    return place.flow != nullptr && place.flow->key == key ? &place : nullptr;
  }

  const Place& put(const Key& key, Flow& flow, std::uint32_t slot) {
    Place& place = places_[index(key)];
    place.flow = &flow;
    place.slot = slot;
    return place;
  }

  void forget(const Key& key) { places_[index(key)].flow = nullptr; }

 private:
  static constexpr int kBits = 8;

  static std::size_t index(const Key& key) {
    constexpr std::uint32_t kOdd = 0x9e3779b1;
    return (key.ports * kOdd) >> (32 - kBits);
  }

  std::array<Place, std::size_t{1} << kBits> places_{};
};

}  // namespace chokepoint::capture::flow
