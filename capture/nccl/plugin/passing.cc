#include "capture/nccl/plugin/passing.h"

#include <string.h>

#include "capture/nccl/plugin/process.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

bool is_use(const Entry& entry, std::uint64_t use) {
  const EntryState state = EntryState::of(entry.state.load(std::memory_order_acquire));
  return state.use == use &&
         (state.phase == Phase::Live || state.phase == Phase::Over || state.phase == Phase::Busy);
}

// Read between two looks at whose it is: the place may be taken meanwhile.
void* its_parent(void* parent, std::uint64_t communicator) {
  const std::uint64_t bits = handle::bits_of(parent);
  const Entry* entry = find_parent(bits, communicator);
  if (entry == nullptr) {
    return nullptr;
  }
  const std::uint64_t its = entry->next.load(std::memory_order_acquire);
  return is_use(*entry, handle::unpack(bits).use) ? handle::pointer_of(its) : nullptr;
}

}  // namespace

Entry* find_parent(std::uint64_t handle, std::uint64_t communicator) {
  if (!handle::is(handle::kEntry, handle)) {
    return nullptr;
  }
  const Handle parts = handle::unpack(handle);
  Entry* entry = process().lanes.entry(parts);
  const bool is_it = entry != nullptr && is_use(*entry, parts.use) &&
                     entry->communicator.load(kRelaxed) == communicator;
  return is_it ? entry : nullptr;
}

std::uint64_t pass_start(const Communicator& communicator, std::uint64_t handle,
                         const Descriptor& descriptor, std::uint64_t type) {
  const NextTable& next = *communicator.next.load(kRelaxed);
  const bool is_old = next.version == 4;
  Descriptor copy = {};
  memcpy(&copy, &descriptor, is_old ? kDescriptorBytes4 : kDescriptorBytes5);
  copy.parent = its_parent(descriptor.parent, handle);
  if (!is_old && type == event::kCollective) {
    copy.collective.group = its_parent(descriptor.collective.group, handle);
  } else if (!is_old && type == event::kMessage) {
    copy.message.group = its_parent(descriptor.message.group, handle);
  }
  void* its = nullptr;
  next.start(communicator.next_context.load(kRelaxed), &its, &copy);
  return handle::bits_of(its);
}

void pass_stop(const Communicator& communicator, std::uint64_t its_handle) {
  const NextTable* next = communicator.next.load(kRelaxed);
  if (next != nullptr && its_handle != 0) {
    next->stop(handle::pointer_of(its_handle));
  }
}

void pass_state(const Communicator& communicator, std::uint64_t its_handle, int state,
                StateArguments* arguments) {
  const NextTable* next = communicator.next.load(kRelaxed);
  if (next != nullptr && its_handle != 0) {
    next->record(handle::pointer_of(its_handle), state, arguments);
  }
}

}  // namespace chokepoint::capture::nccl::plugin
