// Round trips by TCP's timestamp option: each new value of one side is remembered with the time at
// which it passed, until the other side sends it back. One sample a value. Where more values are
// under way than fit, only some are followed. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "capture/flow/budget.h"

namespace chokepoint::capture::flow {

class Echoes {
 public:
  static constexpr std::size_t kMost = 64;

  explicit Echoes(Budget& budget) : share_(budget) { share_.grow(sizeof(Echoes)); }

  void sent(std::uint32_t value, std::int64_t time_ns) {
    if ((is_begun_ && static_cast<std::int32_t>(value - newest_) <= 0) || past_ - first_ == kMost) {
      return;
    }
    is_begun_ = true;
    newest_ = value;
    waiting_[past_++ % kMost] = {value, time_ns};
  }

  // The other side returned this value; how long it took, where that was being waited for.
  std::optional<std::int64_t> returned(std::uint32_t value, std::int64_t time_ns) {
    while (first_ != past_) {
      const Waiting& oldest = waiting_[first_ % kMost];
      const auto ahead = static_cast<std::int32_t>(oldest.value - value);
      if (ahead > 0) {
        return std::nullopt;
      }
      ++first_;
      if (ahead == 0) {
        return time_ns - oldest.time_ns;
      }
    }
    return std::nullopt;
  }

 private:
  struct Waiting {
    std::uint32_t value = 0;
    std::int64_t time_ns = 0;
  };

  std::array<Waiting, kMost> waiting_{};
  std::uint32_t newest_ = 0;
  bool is_begun_ = false;
  std::size_t first_ = 0;
  std::size_t past_ = 0;
  Share share_;
};

}  // namespace chokepoint::capture::flow
