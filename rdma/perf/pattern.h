// What a message with a number of its own holds: no two of a test alike, nor two parts of one. So
// that what was changed on the way, left from before or swapped is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace chokepoint::rdma::perf {

struct MessageNumber {
  int queue = 0;
  std::uint64_t sequence = 0;
};

void write_pattern(std::span<std::byte> into, MessageNumber number);
// The one sequence whose message could begin so; nothing where a message is too short to tell.
std::optional<std::uint64_t> sequence_of(std::span<const std::byte> message, int queue);
bool holds_pattern(std::span<const std::byte> message, MessageNumber number);

}  // namespace chokepoint::rdma::perf
