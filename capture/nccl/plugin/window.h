// When the costly events are told: a share of the time, by the clock that all hosts have, so that
// every rank tells of the same collectives.
#pragma once

#include <cstdint>

namespace chokepoint::capture::nccl::plugin {

inline constexpr const char* kWindowVariable = "CHOKEPOINT_NCCL_WINDOW";

// So many seconds of every so many.
struct Window {
  std::uint64_t on_s = 1;
  std::uint64_t of_s = 8;

  bool is_on(std::uint64_t wall_ns) const;
  // Until this changes, or is to be looked at again; never 0.
  std::uint64_t left_ns(std::uint64_t wall_ns) const;
};

// "1/8", "0" for never, "all"; what cannot be read is as if nothing were set. `text` may be null.
Window window_of(const char* text);

}  // namespace chokepoint::capture::nccl::plugin
