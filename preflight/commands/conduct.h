// A preflight from the first agent to the last figure: agents are started where that is wanted,
// called, and led. Owns all of them while it lasts. One thread; Crew has its own for names.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/cli/context.h"
#include "base/net/address.h"
#include "preflight/judge/limits.h"
#include "preflight/launch/launch.h"
#include "preflight/lead/lead.h"

namespace chokepoint::preflight {

struct Conduct {
  lead::Wanted wanted = {};
  Limits limits = {};    // to tell in the midst of it what to look at again
  std::string key = {};  // as a key file holds it; empty without one
  std::optional<net::Family> family = {};
  Launcher launcher = Launcher::None;
  std::uint16_t port = control::kPort;  // of agents that are started
  std::string program = {};
  std::string tarball = {};
  std::chrono::milliseconds appear{0};  // for so long an agent may not be there yet
};

// What was measured, also where it was interrupted or broke off.
Result<Measured> conduct(const Conduct& conduct, const cli::Context& context);

}  // namespace chokepoint::preflight
