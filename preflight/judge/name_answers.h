// What hosts were told of each other's names, and which of it is wrong. Points into the scene.
#pragma once

#include <cstdint>
#include <vector>

#include "preflight/judge/scene.h"

namespace chokepoint::preflight {

enum class Wrong : std::uint8_t {
  No,
  Unresolved,  // no answer
  Loopback,    // to the one who asks
  Elsewhere,   // to nobody's interface of that host
  Differs,     // to another than most are told
};

struct LookedUp {
  HostIndex asker = 0;
  HostIndex asked = 0;
  const NameAnswer* answer = nullptr;
  Wrong wrong = Wrong::No;
};

// By whom was asked for, then by who asked. Hosts that were given as addresses need no names.
std::vector<LookedUp> looked_up(const ClusterInput& scene);

}  // namespace chokepoint::preflight
