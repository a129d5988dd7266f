#include "probe/collective/numbers.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace chokepoint::probe::collective {
namespace {

constexpr int kHalfMantissa = 10;
constexpr int kHalfBias = 15;
constexpr int kBFloatShift = 16;  // it is the upper half of a float

std::uint16_t half_of(std::uint64_t value) {
  if (value == 0) {
    return 0;
  }
  const auto exponent = static_cast<int>(std::bit_width(value)) - 1;
  const auto mantissa = (value << kHalfMantissa >> exponent) & ((1U << kHalfMantissa) - 1);
  return static_cast<std::uint16_t>(static_cast<unsigned>(exponent + kHalfBias) << kHalfMantissa |
                                    mantissa);
}

double from_half(std::uint16_t bits) {
  const int exponent = bits >> kHalfMantissa & 0x1f;
  const auto mantissa = static_cast<double>(bits & ((1U << kHalfMantissa) - 1));
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 0x1f) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  const double one = exponent == 0 ? 0 : 1U << kHalfMantissa;
  return sign * std::ldexp(one + mantissa, std::max(exponent, 1) - kHalfBias - kHalfMantissa);
}

std::uint16_t bfloat_of(std::uint64_t value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >>
                                    kBFloatShift);
}

double from_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << kBFloatShift);
}

template <class T>
void put(T value, std::span<std::byte> into) {
  std::memcpy(into.data(), &value, sizeof(value));
}

template <class T>
T taken(std::span<const std::byte> element) {
  T value;
  std::memcpy(&value, element.data(), sizeof(value));
  return value;
}

}  // namespace

std::uint64_t largest_exact(ElementType type) {
  switch (type) {
    case ElementType::Uint8:
      return 255;
    case ElementType::BFloat16:
      return 256;
    case ElementType::Float16:
      return 2048;
    case ElementType::Float32:
    case ElementType::Float64:
    case ElementType::Int32:
    case ElementType::Int64:
      return 1 << 24;
  }
  return 1;
}

void encode(ElementType type, std::uint64_t value, std::span<std::byte> into) {
  switch (type) {
    case ElementType::Float32:
      return put(static_cast<float>(value), into);
    case ElementType::Float64:
      return put(static_cast<double>(value), into);
    case ElementType::Float16:
      return put(half_of(value), into);
    case ElementType::BFloat16:
      return put(bfloat_of(value), into);
    case ElementType::Int32:
      return put(static_cast<std::int32_t>(value), into);
    case ElementType::Int64:
      return put(static_cast<std::int64_t>(value), into);
    case ElementType::Uint8:
      return put(static_cast<std::uint8_t>(value), into);
  }
}

double decode(ElementType type, std::span<const std::byte> element) {
  switch (type) {
    case ElementType::Float32:
      return taken<float>(element);
    case ElementType::Float64:
      return taken<double>(element);
    case ElementType::Float16:
      return from_half(taken<std::uint16_t>(element));
    case ElementType::BFloat16:
      return from_bfloat(taken<std::uint16_t>(element));
    case ElementType::Int32:
      return taken<std::int32_t>(element);
    case ElementType::Int64:
      return static_cast<double>(taken<std::int64_t>(element));
    case ElementType::Uint8:
      return taken<std::uint8_t>(element);
  }
  return 0;
}

}  // namespace chokepoint::probe::collective
