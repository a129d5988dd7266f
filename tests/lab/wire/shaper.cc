#include "tests/lab/wire/shaper.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::lab {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;
constexpr double kBitsPerByte = 8;

}  // namespace

bool Shaper::fits(std::int64_t now_ns, std::uint64_t bytes) const {
  if (!settings_.bits_per_second || line_free_ns_ <= now_ns) {
    return true;
  }
  const double waiting_bytes = static_cast<double>(line_free_ns_ - now_ns) *
                               *settings_.bits_per_second / kBitsPerByte / kNanosecondsPerSecond;
  return waiting_bytes + static_cast<double>(bytes) <=
         static_cast<double>(settings_.queue_limit_bytes());
}

std::optional<std::int64_t> Shaper::offer(std::int64_t now_ns, WireSize size) {
  if (cut_) {
    counters_.dropped_cut += size.packets;
    return std::nullopt;
  }
  if (!fits(now_ns, size.bytes)) {
    counters_.dropped_queue += size.packets;
    return std::nullopt;
  }
  line_free_ns_ = std::max(line_free_ns_, now_ns);
  if (settings_.bits_per_second) {
    line_free_ns_ += std::llround(static_cast<double>(size.bytes) * kBitsPerByte *
                                  kNanosecondsPerSecond / *settings_.bits_per_second);
  }
  if (draws_loss()) {
    counters_.dropped_loss += size.packets;
    return std::nullopt;
  }
  counters_.packets += size.packets;
  counters_.bytes += size.bytes;
  last_due_ns_ = std::max(last_due_ns_, line_free_ns_ + settings_.delay.count());
  return last_due_ns_;
}

void Shaper::lost_behind(WireSize size) {
  counters_.packets -= size.packets;
  counters_.bytes -= size.bytes;
  counters_.dropped_cut += size.packets;
}

}  // namespace chokepoint::lab
