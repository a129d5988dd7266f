// Quantities come from command lines and records: whatever the text, a value or an error, and what
// is written for people never depends on luck.
#include "base/math/units.h"

#include <cmath>
#include <cstdlib>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace chokepoint;
  const std::string text(data, data + size);
  if (const auto bytes = math::parse_bytes(text)) {
    math::format_bytes(static_cast<double>(bytes->count));
  }
  if (const auto rate = math::parse_rate(text)) {
    if (!std::isfinite(rate->bits_per_second) || rate->bits_per_second < 0) std::abort();
    math::format_rate(rate->bits_per_second);
  }
  if (const auto duration = math::parse_duration(text)) {
    if (duration->count() < 0) std::abort();
    math::format_duration(*duration);
  }
  if (const auto count = math::parse_count(text)) {
    if (!std::isfinite(*count) || *count < 0) std::abort();
  }
  return 0;
}
