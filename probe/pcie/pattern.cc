#include "probe/pcie/pattern.h"

#include <algorithm>
#include <cstring>

namespace chokepoint::probe::pcie {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;  // odd: no word comes twice

std::uint64_t word_of(std::uint64_t seed, std::uint64_t number) {
  const std::uint64_t mixed = (seed + number) * kStep;
  return mixed ^ (mixed >> 29);
}

}  // namespace

void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes.size(); at += kWord) {
    const std::uint64_t word = word_of(seed, at / kWord);
    std::memcpy(bytes.data() + at, &word, std::min(kWord, bytes.size() - at));
  }
}

std::optional<std::uint64_t> difference(std::span<const std::byte> bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes.size(); at += kWord) {
    const std::uint64_t word = word_of(seed, at / kWord);
    const std::size_t length = std::min(kWord, bytes.size() - at);
    if (std::memcmp(bytes.data() + at, &word, length) == 0) {
      continue;
    }
    const auto* wanted = reinterpret_cast<const std::byte*>(&word);
    const auto [found, _] =
        std::mismatch(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                      bytes.begin() + static_cast<std::ptrdiff_t>(at + length), wanted);
    return static_cast<std::uint64_t>(found - bytes.begin());
  }
  return std::nullopt;
}

}  // namespace chokepoint::probe::pcie
