#include "capture/nccl/plugin/record.h"

#include "capture/nccl/plugin/process.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

// Each word is released, so that whoever sees a new one sees the odd number before it, too.
void write(Ring& ring, const Record& record) {
  const std::uint64_t number = ring.written.load(std::memory_order_relaxed);
  Slot& slot = ring.slots[number % kSlots];
  slot.number.store(2 * number + 1, std::memory_order_relaxed);
  for (std::size_t each = 0; each < kWords; ++each) {
    slot.words[each].store(record[each], std::memory_order_release);
  }
  slot.number.store(2 * (number + 1), std::memory_order_release);
  ring.written.store(number + 1, std::memory_order_release);
}

}  // namespace

void keep(const Lane* lane, const Record& record) {
  Ring* ring = lane == nullptr ? nullptr : lane->ring.load(std::memory_order_relaxed);
  if (ring != nullptr) {
    write(*ring, record);
  } else {
    process().lose();
  }
}

}  // namespace chokepoint::capture::nccl::plugin
