// The data of a collective, known beforehand on every rank: whole numbers by rank and place that
// repeat only after a prime number of elements, so that what went astray by a part of a buffer does
// not look right. What is summed up is so small that every type's sums are exact. Pure; a Pattern
// is one rank's and one thread's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probe/collective/operation.h"

namespace chokepoint::probe::collective {

struct Wrong {
  int rank = 0;
  std::uint64_t offset_bytes = 0;  // of the first element that is wrong
  double wanted = 0;
  double found = 0;

  bool operator==(const Wrong&) const = default;
};

// "rank 2 has 3 at byte 4096 of its output, wanted 7"
std::string describe(const Wrong& wrong);

class Pattern {
 public:
  Pattern(const Operation& operation, int rank) : operation_(operation), rank_(rank) {}

  // All of it, or its beginning.
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
  std::uint64_t most() const;
  std::uint64_t value(int rank, std::uint64_t index) const;
  // The elements of one period, as they lie in memory; no more of them than there are.
  std::vector<std::byte> period(std::optional<int> source, std::uint64_t elements) const;

  Operation operation_;
  int rank_;
};

}  // namespace chokepoint::probe::collective
