// Small whole numbers as each element type has them in memory. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "probe/collective/operation.h"

namespace chokepoint::probe::collective {

// The largest up to which every whole number is exact: what a sum may reach.
std::uint64_t largest_exact(ElementType type);

// `into` has the bytes of one element; `value` is no larger than largest_exact().
void encode(ElementType type, std::uint64_t value, std::span<std::byte> into);
double decode(ElementType type, std::span<const std::byte> element);

}  // namespace chokepoint::probe::collective
