#include "rdma/perf/pattern.h"

#include <algorithm>
#include <cstring>

namespace chokepoint::rdma::perf {
namespace {

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kFirstFactor = 0xbf58476d1ce4e5b9;
constexpr std::uint64_t kSecondFactor = 0x94d049bb133111eb;

std::uint64_t scatter(std::uint64_t value) {
  value = (value ^ (value >> 30)) * kFirstFactor;
  value = (value ^ (value >> 27)) * kSecondFactor;
  return value ^ (value >> 31);
}

// Odd numbers have an inverse; each step doubles the bits that are right.
constexpr std::uint64_t inverse_of(std::uint64_t odd) {
  std::uint64_t inverse = odd;
  for (int bits = 3; bits < 64; bits *= 2) {
    inverse *= 2 - odd * inverse;
  }
  return inverse;
}

std::uint64_t gather(std::uint64_t value) {
  value = (value ^ (value >> 31) ^ (value >> 62)) * inverse_of(kSecondFactor);
  value = (value ^ (value >> 27) ^ (value >> 54)) * inverse_of(kFirstFactor);
  return value ^ (value >> 30) ^ (value >> 60);
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

std::optional<std::uint64_t> sequence_of(std::span<const std::byte> message, int queue) {
  std::uint64_t word = 0;
  if (message.size() < sizeof word) {
    return std::nullopt;
  }
  std::memcpy(&word, message.data(), sizeof word);
  return gather(gather(word) - static_cast<std::uint64_t>(queue) * kStep) - 1;
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
