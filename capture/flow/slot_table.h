// Other parts' data for each flow of an engine, by Seen::slot: no search, no lock. It grows with
// the slots that are used, at least twofold, which makes references into it invalid. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace chokepoint::capture::flow {

template <class T>
class SlotTable {
 public:
  T& operator[](std::uint32_t slot) {
    if (slot >= entries_.size()) {
      entries_.resize(std::max<std::size_t>(std::size_t{slot} + 1, entries_.size() * 2));
    }
    return entries_[slot];
  }
  // nullptr: none so far.
  const T* find(std::uint32_t slot) const {
    return slot < entries_.size() ? &entries_[slot] : nullptr;
  }
  // All there are, used or not.
  std::vector<T>& entries() { return entries_; }

 private:
  std::vector<T> entries_;
};

}  // namespace chokepoint::capture::flow
