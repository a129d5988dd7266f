// A whole number that may not be known, in eight bytes, so that rows stay small and trivially
// copyable. Unknown is kept as NULL, never as 0. A value.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

namespace chokepoint::record {

class Figure {
 public:
  constexpr Figure() = default;
  template <std::integral T>
  constexpr Figure(T value)  // NOLINT: rows are filled with plain numbers
      : value_(static_cast<std::int64_t>(value)) {}

  constexpr bool known() const { return value_ != kUnknown; }
  // What is kept; meaningful where known().
  constexpr std::int64_t value() const { return value_; }
  constexpr std::int64_t value_or(std::int64_t other) const { return known() ? value_ : other; }
  friend constexpr bool operator==(Figure, Figure) = default;

 private:
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();
  std::int64_t value_ = kUnknown;
};

}  // namespace chokepoint::record
