// A preflight led through made-up agents, for tests: what they all want alike.
#pragma once

#include "preflight/lead/lead.h"
#include "tests/preflight/lead/fake_agents.h"

namespace chokepoint::preflight {

inline lead::Wanted wanted_of(std::size_t hosts, const char* effort = "quick") {
  lead::Wanted wanted{.effort = *plan::effort_named(effort), .seed = 1, .program = "chokepoint"};
  for (HostIndex host = 0; host < hosts; ++host) {
    wanted.hosts.push_back({.name = FakeAgents::name(host)});
  }
  return wanted;
}

inline Measured led(FakeAgents& agents, const lead::Wanted& wanted,
                    const lead::Advisers& advisers = {}) {
  return lead::lead(agents, wanted, advisers, agents.clock, {}).measured;
}

inline bool is_whole(const PairResult& pair) {
  return pair.there.tcp_mbps && pair.back.tcp_mbps && pair.rtt_ms && pair.there.packets > 0;
}

}  // namespace chokepoint::preflight
