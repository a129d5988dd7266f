// What one direction of the wire does to frames, and how it is written: words such as
//   rate=100M delay=7.5ms jitter=2ms loss=0.0001 run=5 late=0.001 queue=256K bucket=64K
//   drop=17,18 duplicate=3 reorder=5:3
// Rates and bytes count whole Ethernet frames without FCS, as a token bucket of the kernel does.
// Values and pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/sys/error.h"
#include "tests/lab/wire/orders.h"

namespace chokepoint::lab {

struct DirectionSettings {
  std::optional<double> bits_per_second{};  // nothing: as fast as the processors are
  std::chrono::nanoseconds delay{0};
  std::chrono::nanoseconds jitter{0};  // up to so much more, evenly; frames keep their order
  double loss = 0;                     // the share of frames that are lost
  double loss_run = 1;                 // so many one after the other, on average
  double late = 0;  // the share of frames that come up to a millisecond late, behind others
  // What may wait for the rate; more is dropped. Nothing: 50 ms of the rate.
  std::optional<std::uint64_t> queue_bytes{};
  // A policer instead of a queue: so much passes at once, then what the rate refills; the rest is
  // dropped.
  std::optional<std::uint64_t> bucket_bytes{};
  Orders orders{};

  std::uint64_t queue_limit_bytes() const;
};

// Changes what the word says.
Result<> apply_word(DirectionSettings& settings, std::string_view word);

// Whether super-frames of up to 64 KiB may pass as one: not where each segment's fate is its own,
// nor where one would hold the line, or fill the queue, so long that a segmented train looks
// different.
bool allows_super_frames(const DirectionSettings& settings);

}  // namespace chokepoint::lab
