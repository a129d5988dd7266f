// What is kept of a direction once something went wrong in it: holes at the tap, what the receiver
// reported by SACK, and the latest retransmissions, so that a DSACK finds the one it speaks of.
// Made at the first event; most flows never have one. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "capture/flow/budget.h"
#include "capture/flow/holes.h"
#include "capture/flow/ranges.h"

namespace chokepoint::capture::flow {

struct Resent {
  Range range{};
  std::uint32_t segments = 0;
  bool is_spurious = false;
};

class Loss {
 public:
  explicit Loss(Budget& budget) : share_(budget) { share_.grow(sizeof(Loss)); }

  Holes holes;
  Ranges sacked;

  void resent(const Resent& resent) { resent_[count_++ % kRemembered] = resent; }

  // The receiver says it had this range already; how many retransmitted segments that makes
  // spurious for the first time.
  std::uint32_t had_already(Range range) {
    std::uint32_t segments = 0;
    for (Resent& each : resent_) {
      if (!each.is_spurious && each.range.begin < range.end && range.begin < each.range.end) {
        each.is_spurious = true;
        segments += each.segments;
      }
    }
    return segments;
  }

 private:
  static constexpr std::size_t kRemembered = 32;

  std::array<Resent, kRemembered> resent_{};
  std::size_t count_ = 0;
  Share share_;
};

}  // namespace chokepoint::capture::flow
