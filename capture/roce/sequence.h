// The packet sequence numbers of one direction of a connection: 24 bits that wrap.
//
//      in a gap          sent again         expected   missing until now
//   ──────┼───────────────────┼─────────────────┼──────────────┼─────▶ PSN
//      difference < 0     difference < 0    difference 0   difference > 0
//
// A step beyond what can be outstanding is another connection on a queue pair that is used anew.
// Fixed memory; a value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace chokepoint::capture::roce {

inline std::int32_t difference(std::uint32_t psn, std::uint32_t from) {
  return static_cast<std::int32_t>((psn - from) << 8) >> 8;
}

class Sequence {
 public:
  enum class Step : std::uint8_t { New, Gap, Filled, Again, Restart };

  // `count` PSNs belong to the packet: a read request has those of its answer.
  Step take(std::uint32_t psn, std::uint32_t count);

  // What comes next cannot be known: the next packet sets it, forward of here.
  void forget_next() { is_next_known_ = false; }

  std::uint64_t missing() const { return missing_; }
  std::uint32_t next() const { return next_; }

 private:
  static constexpr std::int32_t kMostOutstanding = 1 << 16;
  static constexpr std::size_t kMostGaps = 8;

  struct Gap {
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
  };

  void remember(Gap gap);
  bool fill(std::uint32_t psn);
  void restart(std::uint32_t psn, std::uint32_t count);

  bool is_begun_ = false;
  bool is_next_known_ = true;
  std::uint32_t next_ = 0;
  std::uint64_t missing_ = 0;
  std::array<Gap, kMostGaps> gaps_{};  // the oldest is given up for a new one
  std::size_t next_gap_ = 0;
};

}  // namespace chokepoint::capture::roce
