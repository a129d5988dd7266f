// Why a GPU's driver keeps it below its clocks, by NVML's bits: what they are called in records and
// documents, in words, and which of them slow a busy GPU down. An idle GPU's low clock, and clocks
// that somebody has set on purpose, are told, too, and slow nothing down. Constants.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace chokepoint::host {

struct ThrottleReason {
  std::uint64_t bit = 0;
  std::string_view name = {};   // "power-cap"
  std::string_view words = {};  // "its power cap"
  bool slows = false;
};

std::span<const ThrottleReason> throttle_reasons();

constexpr std::uint64_t kGpuIsIdle = 0x1;
// Of the bits those that slow a busy GPU down.
std::uint64_t slowing(std::uint64_t bits);

}  // namespace chokepoint::host
