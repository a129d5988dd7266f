#include "rdma/perf/pattern.h"

#include <algorithm>
#include <cstring>

namespace chokepoint::rdma::perf {
namespace {

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

std::uint64_t scatter(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::uint64_t seed_of(MessageNumber number) {
  const auto queue = static_cast<std::uint64_t>(number.queue);
  return scatter(scatter(number.sequence + 1) + queue * kStep);
}

}  // namespace

void write_pattern(std::span<std::byte> into, MessageNumber number) {
  std::uint64_t word = seed_of(number);
  while (!into.empty()) {
    const std::size_t bytes = std::min(into.size(), sizeof word);
    std::memcpy(into.data(), &word, bytes);
    into = into.subspan(bytes);
    word += kStep;
  }
}

bool holds_pattern(std::span<const std::byte> message, MessageNumber number) {
  std::uint64_t word = seed_of(number);
  while (!message.empty()) {
    const std::size_t bytes = std::min(message.size(), sizeof word);
    if (std::memcmp(message.data(), &word, bytes) != 0) {
      return false;
    }
    message = message.subspan(bytes);
    word += kStep;
  }
  return true;
}

}  // namespace chokepoint::rdma::perf
