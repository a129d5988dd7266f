// Leads a preflight through its agents: calls them, has every pair tested in rounds, looks again at
// what is suspect, loads all at once, and fills what the judgement reads. Whatever agents do, each
// step has a bound; who goes is left out from then on, and what was measured stays. One thread; the
// agents are the caller's.
//
//   arrival ─► doctor, names ─► quiet rounds ─► bulk rounds ─► suspects, alone ─► cuts ─► RDMA
//                               latency, loss,  there, then                            ─►
//                               collective path            back
#pragma once

#include <optional>

#include "base/sys/clock.h"
#include "preflight/agents/agents.h"
#include "preflight/lead/wanted.h"

namespace chokepoint::preflight::lead {

struct Led {
  Measured measured = {};
  std::optional<Error> broken = {};  // the agents' connections failed altogether; what was measured
                                     // until then is there
};

// `measured.was_interrupted` where the agents said so.
Led lead(Agents& agents, const Wanted& wanted, const Advisers& advisers, const sys::Clock& clock,
         const Tell& tell);

}  // namespace chokepoint::preflight::lead
