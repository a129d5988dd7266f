// What a direction does to frames it is told by number, so that a test knows each loss, copy and
// reordering beforehand. Frames that carry data are counted from one, beginning anew with each
// change of the direction; all others pass. Written as words:
//
//   drop=17,18,40     these do not arrive
//   duplicate=3       arrives twice, the copy right behind
//   reorder=5:3       the fifth is held back until three later ones have passed
//
// Orders are a value; OrderBook counts along, one a direction, on the relay's thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::lab {

struct HoldBack {
  std::uint64_t number = 0;
  std::uint64_t behind = 0;

  bool operator==(const HoldBack&) const = default;
};

struct Orders {
  std::vector<std::uint64_t> drop{};
  std::vector<std::uint64_t> duplicate{};
  std::vector<HoldBack> reorder{};

  bool empty() const { return drop.empty() && duplicate.empty() && reorder.empty(); }
};

Result<std::vector<std::uint64_t>> parse_numbers(std::string_view text);
Result<std::vector<HoldBack>> parse_hold_backs(std::string_view text);

enum class Fate { Pass, Drop, Duplicate, HoldBack };

struct Obeyed {
  std::uint64_t dropped = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t held_back = 0;
};

class OrderBook {
 public:
  explicit OrderBook(Orders orders) : orders_(std::move(orders)) {}

  bool empty() const { return orders_.empty(); }
  // What was obeyed before stays counted.
  void change(const Orders& orders);
  // The fate of the next frame with data.
  Fate next();
  // After which frame the one that was held back last may go.
  std::uint64_t held_until() const { return held_until_; }
  std::uint64_t counted() const { return counted_; }
  const Obeyed& obeyed() const { return obeyed_; }

 private:
  Orders orders_;
  std::uint64_t counted_ = 0;
  std::uint64_t held_until_ = 0;
  Obeyed obeyed_;
};

}  // namespace chokepoint::lab
