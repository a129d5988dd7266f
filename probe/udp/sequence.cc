#include "probe/udp/sequence.h"

namespace chokepoint::probe::udp {

bool SequenceTracker::test(std::uint64_t sequence) const {
  return (bits_[sequence % kWindow / kBits] >> (sequence % kBits) & 1U) != 0;
}

void SequenceTracker::set(std::uint64_t sequence) {
  bits_[sequence % kWindow / kBits] |= std::uint64_t{1} << (sequence % kBits);
}

void SequenceTracker::forget(std::uint64_t from, std::uint64_t to) {
  if (to - from >= kWindow) {
    bits_.fill(0);
    return;
  }
  for (std::uint64_t sequence = from; sequence != to; ++sequence) {
    bits_[sequence % kWindow / kBits] &= ~(std::uint64_t{1} << (sequence % kBits));
  }
}

bool SequenceTracker::add(std::uint64_t sequence) {
  // The highest number of all has no next one; no sender gets there.
  if (sequence < next_ || sequence == ~std::uint64_t{0}) {
    return add_late(sequence);
  }
  forget(next_, sequence);
  set(sequence);
  next_ = sequence + 1;
  ++counts_.received;
  return true;
}

bool SequenceTracker::add_late(std::uint64_t sequence) {
  if (sequence >= next_ || next_ - sequence > kWindow) {
    ++counts_.ancient;
    return false;
  }
  if (test(sequence)) {
    ++counts_.duplicates;
    return false;
  }
  set(sequence);
  ++counts_.received;
  ++counts_.out_of_order;
  return true;
}

}  // namespace chokepoint::probe::udp
