// The known traps of traps.def: what each is, by which check it is seen, and where it was reported.
// Constants.
#pragma once

#include <array>
#include <string_view>

namespace chokepoint::checks {

struct Trap {
  std::string_view name = {};     // "small-shm"
  std::string_view command = {};  // "doctor" or "preflight"
  std::string_view check = {};    // "memory.shared"
  std::string_view means = {};
  std::string_view shown_by = {};
  std::string_view advice = {};
  std::string_view source = {};
};

inline constexpr auto kTraps = std::to_array<Trap>({
#define TRAP(...) {__VA_ARGS__},
#include "base/checks/traps.def"
});

}  // namespace chokepoint::checks
