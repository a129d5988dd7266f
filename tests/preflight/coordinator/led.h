// A preflight led through made-up agents, for tests: what they all want alike.
#pragma once

#include "preflight/coordinator/coordinator.h"
#include "tests/preflight/coordinator/fake_agents.h"

namespace chokepoint::preflight {

inline coordinator::Wanted wanted_of(std::size_t hosts, const char* effort = "quick") {
  coordinator::Wanted wanted{
      .effort = *coordinator::effort_named(effort), .seed = 1, .program = "chokepoint"};
  for (HostIndex host = 0; host < hosts; ++host) {
    wanted.hosts.push_back({.name = FakeAgents::name(host)});
  }
  return wanted;
}

inline Measured led(FakeAgents& agents, const coordinator::Wanted& wanted,
                    const coordinator::Advisers& advisers = {}) {
  return coordinator::run_preflight(agents, wanted, advisers, agents.clock, {}).measured;
}

inline bool is_whole(const PairResult& pair) {
  return pair.there.tcp_mbps && pair.back.tcp_mbps && pair.rtt_ms && pair.there.packets > 0;
}

}  // namespace chokepoint::preflight
