#include "capture/nccl/gpu_clock.h"

#include <algorithm>

namespace chokepoint::capture::nccl {
namespace {

// Clocks 50 parts in a million apart drift by half a millisecond in ten seconds.
constexpr std::int64_t kBinNs = 5'000'000'000;

}  // namespace

void GpuClock::learn(std::int64_t gpu_ns, std::int64_t seen_ns) {
  const std::int64_t number = seen_ns / kBinNs;
  const std::int64_t difference_ns = seen_ns - gpu_ns;
  if (number > newest_.number) {
    before_ = newest_;
    newest_ = {.number = number};
  }
  Bin& bin = number < newest_.number ? before_ : newest_;
  bin.least_ns = std::min(bin.least_ns.value_or(difference_ns), difference_ns);
}

std::optional<std::int64_t> GpuClock::host_ns(std::int64_t gpu_ns) const {
  if (!newest_.least_ns) {
    return {};
  }
  // A bin that has only just begun may have seen nothing promptly yet.
  const std::int64_t least_ns = before_.least_ns && newest_.number - before_.number <= 1
                                    ? std::min(*before_.least_ns, *newest_.least_ns)
                                    : *newest_.least_ns;
  return gpu_ns + least_ns;
}

}  // namespace chokepoint::capture::nccl
