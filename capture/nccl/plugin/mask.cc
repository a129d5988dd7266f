#include "capture/nccl/plugin/mask.h"

#include "capture/nccl/plugin/clocks.h"
#include "capture/nccl/plugin/process.h"
#include "capture/nccl/plugin/record.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

constexpr std::uint64_t kAlways = event::kCollective | event::kMessage | event::kProxy;
constexpr std::uint64_t kInWindows = event::kStep | event::kKernel;

void keep_window(const Communicator& communicator, const Lane* lane, std::uint64_t now_ns,
                 bool is_on) {
  const std::uint32_t kernels = is_on ? 1 : 0;
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
    const bool is_on = process().window.is_on(wall);
    mask |= kAlways | (is_on ? kInWindows : 0);
    keep_window(communicator, lane, now_ns, is_on);
  }
  if (int* word = communicator.mask.load(std::memory_order_relaxed); word != nullptr) {
    std::atomic_ref<int>(*word).store(static_cast<int>(mask), std::memory_order_relaxed);
  }
}

}  // namespace chokepoint::capture::nccl::plugin
