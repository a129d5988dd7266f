// The data of a collective, which every rank knows beforehand: whole numbers by rank and index that
// repeat only after a prime number of elements, so that data displaced by a part of a buffer is
// found. Summands are so small that sums are exact in every type. Pure; a Pattern belongs to one
// rank and one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probe/collective/operation.h"

namespace chokepoint::probe::collective {

using Wrong = documents::WrongElement;

// "rank 2 has 3 at byte 4096 of its output, wanted 7"
std::string describe(const Wrong& wrong);

class Pattern {
 public:
  Pattern(const Operation& operation, int rank) : operation_(operation), rank_(rank) {}

  // `input` may be the beginning of it.
  void fill_input(std::span<std::byte> input) const;
  std::optional<Wrong> check_output(std::span<const std::byte> output) const;

 private:
  // A stretch of elements of one rank's input, or of the sum of all.
  struct Stretch {
    std::optional<int> source;
    std::uint64_t first = 0;  // element of the source's input
    std::uint64_t count = 0;
  };

  std::vector<Stretch> output() const;
  bool sums_up() const;
  std::uint64_t max_value() const;
  std::uint64_t value(int rank, std::uint64_t index) const;
  // One period in memory, of at most `elements`. `source`: a rank's input; nullopt: the sum of all.
  std::vector<std::byte> period(std::optional<int> source, std::uint64_t elements) const;

  Operation operation_;
  int rank_;
};

// The largest number up to which the type holds every whole number exactly: a bound for sums.
std::uint64_t largest_exact(ElementType type);

// A whole number as one element in memory; `value` is at most largest_exact().
void encode(ElementType type, std::uint64_t value, std::span<std::byte> into);
double decode(ElementType type, std::span<const std::byte> element);

}  // namespace chokepoint::probe::collective
