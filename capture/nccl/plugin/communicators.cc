#include "capture/nccl/plugin/communicators.h"

#include <algorithm>

#include "capture/nccl/plugin/clocks.h"
#include "capture/nccl/plugin/events.h"
#include "capture/nccl/plugin/process.h"
#include "capture/nccl/plugin/record.h"

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
  communicator.next.store(nullptr, std::memory_order_relaxed);
  communicator.next_context.store(nullptr, std::memory_order_relaxed);
}

void keep_window(const Communicator& communicator, const Lane* lane, std::uint64_t now_ns,
                 bool is_on) {
  const std::uint32_t kernels = is_on && process().choice.kernels ? 1 : 0;
  if (process().kernels.exchange(kernels, std::memory_order_relaxed) == kernels) {
    return;
  }
  Record record = {};
  record[0] = head_of(Kind::Window, communicator);
  record[word::kKernels] = kernels;
  record[word::kTime] = now_ns;
  keep(lane, record);
}

std::uint64_t mask_of_next(const Communicator& communicator) {
  NextTable* next = communicator.next.load(std::memory_order_relaxed);
  return next == nullptr ? 0 : static_cast<std::uint64_t>(mask_of(*next));
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

void keep_mask(Communicator& communicator, const Lane* lane, std::uint64_t now_ns) {
  std::uint64_t at = communicator.switch_at_ns.load(std::memory_order_relaxed);
  if (now_ns < at) {
    return;
  }
  const std::uint64_t wall = wall_ns();
  if (!communicator.switch_at_ns.compare_exchange_strong(
          at, now_ns + process().window.left_ns(wall), std::memory_order_relaxed)) {
    return;
  }
  std::uint64_t mask = mask_of_next(communicator);
  if (process().is_recording()) {
    const std::uint64_t age_ns = now_ns - std::min(now_ns, process().began_ns);
    const bool is_on = process().window.is_on(wall, age_ns);
    const Choice& choice = process().choice;
    mask |= always_of(choice) | (is_on ? in_windows_of(choice) : 0);
    keep_window(communicator, lane, now_ns, is_on);
  }
  if (int* word = communicator.mask.load(std::memory_order_relaxed); word != nullptr) {
    std::atomic_ref<int>(*word).store(static_cast<int>(mask), std::memory_order_relaxed);
  }
}

}  // namespace chokepoint::capture::nccl::plugin
