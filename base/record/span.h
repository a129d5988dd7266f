// A time between two moments of one clock. A value.
#pragma once

#include <cstdint>

namespace chokepoint::record {

struct Span {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t length_ns() const { return end_ns - start_ns; }
};

}  // namespace chokepoint::record
