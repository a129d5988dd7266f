// The elements that libgloo is told to add up: its own kinds, and bf16, which it does not know.
// Values.
#pragma once

#include <gloo/types.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "probe/collective/operation.h"

namespace chokepoint::probe::collective::gloo_module {

struct BFloat16 {
  std::uint16_t bits = 0;

  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }

  // To the nearest, ties to even; a NaN stays one.
  static BFloat16 of(float value) {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    if ((whole & 0x7fffffffU) > 0x7f800000U) {
      return {static_cast<std::uint16_t>((whole >> 16U) | 0x40U)};
    }
    return {static_cast<std::uint16_t>((whole + 0x7fffU + ((whole >> 16U) & 1U)) >> 16U)};
  }

  BFloat16& operator+=(BFloat16 other) { return *this = *this + other; }
  friend BFloat16 operator+(BFloat16 a, BFloat16 b) {
    return of(static_cast<float>(a) + static_cast<float>(b));
  }
};

// Calls with one element of the type.
template <class Function>
decltype(auto) with_element(ElementType type, Function&& function) {
  switch (type) {
    case ElementType::Float64:
      return function(double{});
    case ElementType::Float16:
      return function(::gloo::float16{});
    case ElementType::BFloat16:
      return function(BFloat16{});
    case ElementType::Int32:
      return function(std::int32_t{});
    case ElementType::Int64:
      return function(std::int64_t{});
    case ElementType::Uint8:
      return function(std::uint8_t{});
    case ElementType::Float32:
      break;
  }
  return function(float{});
}

// Whole numbers wrap: what is added up in place again and again outgrows any type.
template <class Element>
Element sum_of(Element a, Element b) {
  if constexpr (std::is_integral_v<Element>) {
    using Bits = std::make_unsigned_t<Element>;
    return static_cast<Element>(static_cast<Bits>(a) + static_cast<Bits>(b));
  } else {
    return static_cast<Element>(a + b);
  }
}

// In the shapes of libgloo's newer collectives, and of its older ones.
template <class Element>
void add(void* to, const void* a, const void* b, std::size_t count) {
  auto* sums = static_cast<Element*>(to);
  const auto* left = static_cast<const Element*>(a);
  const auto* right = static_cast<const Element*>(b);
  for (std::size_t at = 0; at < count; ++at) {
    sums[at] = sum_of(left[at], right[at]);
  }
}

template <class Element>
void add_to(Element* sums, const Element* others, std::size_t count) {
  add<Element>(sums, sums, others, count);
}

}  // namespace chokepoint::probe::collective::gloo_module
