#include "capture/source/tap_reading.h"

#include <poll.h>

#include <algorithm>
#include <array>

namespace chokepoint::capture::source {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kBetweenLooks{100};
// The kernel's timer finds a block old enough at the latest when it looks for the second time.
constexpr milliseconds kHandedOver = 2 * kBlockTimeout + milliseconds{10};
// Should the wall clock be set back meanwhile, no packet looks later than the stop.
constexpr milliseconds kLongestDraining{1000};

}  // namespace

Result<Progress> TapReading::read(Batch& batch) {
  batch.clear();
  const Instant patience = steady_clock::now() + patience_;
  for (;;) {
    const Instant now = steady_clock::now();
    if (stop_.asked() && !drained_at_) {
      stopped_ns_ = tap_.now();
      drained_at_ = now + kHandedOver;
    }
    collect(batch, now);
    if (leave_out_what_came_after_the_stop(batch) || is_drained(batch, now)) {
      look_at_drops(batch);
      return end(batch);
    }
    if (now >= next_look_) {
      look_at_drops(batch);
      next_look_ = now + kBetweenLooks;
    }
    if (!batch.frames.empty() || !batch.drops.empty() || now >= patience) {
      return Progress::More;
    }
    wait(std::min({patience, next_look_, drained_at_.value_or(patience)}));
  }
}

void TapReading::collect(Batch& batch, Instant now) {
  const std::int64_t before = tap_.now();
  auto collected = tap_.collect(batch, interface_);
  if (!collected && !error_) {
    error_ = std::move(collected.error());
    drained_at_ = now + kHandedOver;
  }
  const std::int64_t handed_over = before - std::chrono::nanoseconds(kHandedOver).count();
  complete_until_ =
      batch.frames.empty() ? std::max(handed_over, complete_until_) : batch.frames.back().time_ns;
}

bool TapReading::is_drained(const Batch& batch, Instant now) const {
  return drained_at_ && now >= *drained_at_ &&
         (batch.frames.empty() || now >= *drained_at_ + kLongestDraining);
}

bool TapReading::leave_out_what_came_after_the_stop(Batch& batch) const {
  bool any = false;
  while (!batch.frames.empty() && batch.frames.back().time_ns > stopped_ns_) {
    batch.frames.pop_back();
    any = true;
  }
  return any;
}

void TapReading::look_at_drops(Batch& batch) {
  if (auto drop = tap_.newly_dropped()) {
    drop->interface = interface_;
    batch.drops.push_back(*drop);
  }
}

Result<Progress> TapReading::end(const Batch& batch) const {
  if (!error_) {
    return Progress::End;
  }
  if (!batch.frames.empty() || !batch.drops.empty()) {
    return Progress::More;
  }
  return fail(*error_);
}

// Once the end has begun, only time is waited for: both descriptors may stay readable.
void TapReading::wait(Instant until) const {
  const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
  std::array<pollfd, 2> waiting{{{.fd = tap_.descriptor(), .events = POLLIN, .revents = 0},
                                 {.fd = stop_.descriptor(), .events = POLLIN, .revents = 0}}};
  const nfds_t count = drained_at_ ? 0 : waiting.size();
  poll(waiting.data(), count, static_cast<int>(std::max(left, milliseconds{0}).count()));
}

}  // namespace chokepoint::capture::source
