// What is missing at the tap in one direction: ranges that were jumped over, and what is known
// about the packet that jumped. When such a range is filled, that knowledge tells whether its
// packet was overtaken (it had been sent before) or sent again. Holds a fixed number; beyond it the
// oldest is given up. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "capture/flow/ranges.h"

namespace chokepoint::capture::flow {

struct Hole {
  Range range{};
  std::int64_t opened_ns = 0;
  std::uint32_t timestamp = 0;  // of the packet behind the hole
  std::uint16_t ip_id = 0;      // of the same
  bool has_timestamp = false;
  bool has_ip_id = false;
};

class Holes {
 public:
  static constexpr std::size_t kMost = 64;

  bool empty() const { return count_ == 0; }
  void open(const Hole& hole);
  // The first hole that shares bytes with the range, or none.
  const Hole* find(Range range) const;
  // Takes the range out of all holes; how many bytes that filled.
  Position fill(Range range);
  // What lay below was acknowledged, so it did arrive, unseen here: how many bytes.
  Position give_up_below(Position position);

 private:
  void erase(std::size_t index);
  void split(std::size_t index, Range range);

  std::array<Hole, kMost> holes_{};
  std::size_t count_ = 0;
};

}  // namespace chokepoint::capture::flow
