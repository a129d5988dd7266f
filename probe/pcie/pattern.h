// What is copied, so that it can be told afterwards whether it arrived: every eight bytes differ
// from their neighbours and from those of another seed. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace chokepoint::probe::pcie {

void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed);
// Where it first differs; nothing where it is whole.
std::optional<std::uint64_t> difference(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace chokepoint::probe::pcie
