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

bool Shaper::passes_policer(std::int64_t now_ns, std::uint64_t bytes) {
  const auto full = static_cast<double>(*settings_.bucket_bytes);
  const double refilled = bucket_filled_ns_ ? static_cast<double>(now_ns - *bucket_filled_ns_) *
                                                  settings_.bits_per_second.value_or(0) /
                                                  kBitsPerByte / kNanosecondsPerSecond
                                            : full;
  bucket_bytes_ = std::min(full, bucket_bytes_ + refilled);
  bucket_filled_ns_ = now_ns;
  if (bucket_bytes_ < static_cast<double>(bytes)) {
    return false;
  }
  bucket_bytes_ -= static_cast<double>(bytes);
  return true;
}

void Shaper::use_line(std::int64_t now_ns, std::uint64_t bytes) {
  line_free_ns_ = std::max(line_free_ns_, now_ns);
  if (settings_.bits_per_second && !settings_.bucket_bytes) {
    line_free_ns_ += std::llround(static_cast<double>(bytes) * kBitsPerByte *
                                  kNanosecondsPerSecond / *settings_.bits_per_second);
  }
}

// Runs of more than one begin so much more rarely that the share that is lost stays.
bool Shaper::draws_loss() {
  const double loss = settings_.loss;
  const double run = settings_.loss_run;
  if (loss == 0) {
    return false;
  }
  double chance = loss;
  if (run > 1 && loss < 1) {
    chance = in_loss_run_ ? 1 - 1 / run : loss / (run * (1 - loss));
  }
  in_loss_run_ = uniform_(random_) < chance;
  return in_loss_run_;
}

std::int64_t Shaper::jitter_ns() {
  const auto most = static_cast<double>(settings_.jitter.count());
  return most > 0 ? std::llround(most * uniform_(random_)) : 0;
}

std::optional<std::int64_t> Shaper::offer(std::int64_t now_ns, WireSize size) {
  if (cut_) {
    counters_.dropped_cut += size.packets;
    return std::nullopt;
  }
  if (settings_.bucket_bytes ? !passes_policer(now_ns, size.bytes) : !fits(now_ns, size.bytes)) {
    counters_.dropped_queue += size.packets;
    return std::nullopt;
  }
  use_line(now_ns, size.bytes);
  if (draws_loss()) {
    counters_.dropped_loss += size.packets;
    return std::nullopt;
  }
  counters_.packets += size.packets;
  counters_.bytes += size.bytes;
  last_due_ns_ = std::max(last_due_ns_, line_free_ns_ + settings_.delay.count() + jitter_ns());
  return last_due_ns_;
}

void Shaper::lost_behind(WireSize size) {
  counters_.packets -= size.packets;
  counters_.bytes -= size.bytes;
  counters_.dropped_cut += size.packets;
}

}  // namespace chokepoint::lab
