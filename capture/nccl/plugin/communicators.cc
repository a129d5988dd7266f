#include "capture/nccl/plugin/communicators.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

enum class Membership : std::uint8_t { Free, Joining, Live, Leaving };

constexpr std::uint64_t word_of(std::uint64_t use, Membership membership) {
  return use << 8 | static_cast<std::uint64_t>(membership);
}

constexpr Membership membership_of(std::uint64_t word) {
  return static_cast<Membership>(word & 0xff);
}

void empty(Communicator& communicator) {
  communicator.mask.store(nullptr, std::memory_order_relaxed);
  communicator.switch_at_ns.store(0, std::memory_order_relaxed);
  communicator.sends.store(0, std::memory_order_relaxed);
  communicator.receives.store(0, std::memory_order_relaxed);
  communicator.next.store(nullptr, std::memory_order_relaxed);
  communicator.next_context.store(nullptr, std::memory_order_relaxed);
}

}  // namespace

Communicator* Communicators::add() {
  for (Communicator& each : communicators_) {
    std::uint64_t word = each.state.load(std::memory_order_relaxed);
    if (membership_of(word) != Membership::Free) {
      continue;
    }
    const std::uint64_t use = ((word >> 8) + 1) & handle::low(handle::kUseBits);
    if (each.state.compare_exchange_strong(word, word_of(use == 0 ? 1 : use, Membership::Joining),
                                           std::memory_order_acq_rel)) {
      empty(each);
      // 16 bits of a record, of which 0 is taken.
      const std::uint32_t number = numbers_.fetch_add(1, std::memory_order_relaxed);
      each.number.store(number % 0xffff + 1, std::memory_order_relaxed);
      living_.fetch_add(1, std::memory_order_relaxed);
      return &each;
    }
  }
  return nullptr;
}

std::uint64_t Communicators::publish(Communicator& communicator) {
  const std::uint64_t use = communicator.state.load(std::memory_order_relaxed) >> 8;
  communicator.state.store(word_of(use, Membership::Live), std::memory_order_release);
  const auto place = static_cast<std::uint32_t>(&communicator - communicators_.data());
  return handle::pack(handle::kCommunicator, {.use = use, .place = place});
}

Communicator* Communicators::find(std::uint64_t handle) {
  if (!handle::is(handle::kCommunicator, handle)) {
    return nullptr;
  }
  const Handle parts = handle::unpack(handle);
  if (parts.lane != 0 || parts.place >= kCommunicators) {
    return nullptr;
  }
  Communicator& communicator = communicators_[parts.place];
  const std::uint64_t word = communicator.state.load(std::memory_order_acquire);
  return word == word_of(parts.use, Membership::Live) ? &communicator : nullptr;
}

bool Communicators::leave(std::uint64_t handle) {
  Communicator* communicator = find(handle);
  if (communicator == nullptr) {
    return false;
  }
  const std::uint64_t use = handle::unpack(handle).use;
  std::uint64_t word = word_of(use, Membership::Live);
  return communicator->state.compare_exchange_strong(word, word_of(use, Membership::Leaving),
                                                     std::memory_order_acq_rel);
}

bool Communicators::remove(Communicator& communicator) {
  const std::uint64_t use = communicator.state.load(std::memory_order_relaxed) >> 8;
  communicator.state.store(word_of(use, Membership::Free), std::memory_order_release);
  return living_.fetch_sub(1, std::memory_order_relaxed) == 1;
}

}  // namespace chokepoint::capture::nccl::plugin
