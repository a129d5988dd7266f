#include "preflight/report/figure_json.h"

#include <array>
#include <charconv>
#include <cmath>

namespace chokepoint::preflight {
namespace {

// The double that prints with the digits that the float needs: 952.1, not 952.0999755859375.
double by_digits(float value) {
  std::array<char, 64> text = {};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value);
  double digits = value;
  std::from_chars(text.data(), written.ptr, digits);
  return digits;
}

}  // namespace

cli::Json json_of(const Figure& figure) {
  constexpr float kWhole = 1 << 24;  // up to here each whole number is a float of its own
  if (!figure || !std::isfinite(*figure)) {
    return {};
  }
  if (std::abs(*figure) < kWhole && std::trunc(*figure) == *figure) {
    return static_cast<std::int64_t>(*figure);
  }
  return by_digits(*figure);
}

cli::Json json_of_share(const Figure& share) {
  constexpr float kThousand = 1000;
  return share ? json_of(Figure(std::round(*share * kThousand) / kThousand)) : cli::Json();
}

}  // namespace chokepoint::preflight
