#include "base/host/gpu_throttle.h"

#include <array>

namespace chokepoint::host {
namespace {

constexpr std::array kReasons{
    ThrottleReason{kGpuIsIdle, "idle", "nothing to do", false},
    ThrottleReason{0x2, "application-clocks", "clocks set for applications", false},
    ThrottleReason{0x4, "power-cap", "its power cap", true},
    ThrottleReason{0x8, "hardware-slowdown", "a slowdown by its hardware", true},
    ThrottleReason{0x10, "sync-boost", "the clock of a GPU that it is tied to", true},
    ThrottleReason{0x20, "thermal", "its temperature", true},
    ThrottleReason{0x40, "hardware-thermal", "its temperature, by its hardware", true},
    ThrottleReason{0x80, "power-brake", "the power supply's brake", true},
    ThrottleReason{0x100, "display-clocks", "clocks set for a display", false},
};

}  // namespace

std::span<const ThrottleReason> throttle_reasons() { return kReasons; }

std::uint64_t slowing(std::uint64_t bits) {
  std::uint64_t slow = 0;
  for (const ThrottleReason& reason : kReasons) {
    slow |= reason.slows ? bits & reason.bit : 0;
  }
  return slow;
}

}  // namespace chokepoint::host
