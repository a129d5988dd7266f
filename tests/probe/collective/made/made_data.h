// What ranks send in tests, and what a collective must make of it: computed plainly, in whole
// numbers that every element type holds. Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "probe/collective/operation.h"

namespace chokepoint::probe::collective {

// The numbers of a rank, and what it must have in the end; nothing for where it is left open.
std::vector<int> made_input(const Operation& operation, int rank);
std::vector<int> made_output(const Operation& operation, int rank);

std::vector<std::byte> encode(const std::vector<int>& numbers, ElementType type);
std::vector<int> decode(const std::vector<std::byte>& bytes, ElementType type);

}  // namespace chokepoint::probe::collective
