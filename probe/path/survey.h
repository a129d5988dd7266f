// Everything that one end finds out about the path to the other over one address family: the hops,
// the path MTU, and where large packets vanish if they do. Both ends of a path make one. Blocks up
// to its deadline; one thread each.
#pragma once

#include <optional>

#include "base/net/address.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "probe/path/black_hole.h"
#include "probe/path/hop.h"
#include "probe/path/mtu_search.h"
#include "probe/path/trace_plan.h"
#include "probe/path/udp_prober.h"

namespace chokepoint::probe::path {

// Where traceroute starts, and nobody listens.
constexpr std::uint16_t kTracePort = 33434;

struct SurveyOptions {
  Protocol protocol = Protocol::Udp;
  std::uint16_t port = kTracePort;  // of the target
  Origin origin = {};
  PlanOptions plan = {};
  bool search_mtu = true;
};

struct Survey {
  Trace trace = {};
  std::optional<MtuFinding> mtu = {};
  std::optional<BlackHole> black_hole = {};
};

// Alone: towards any host, be anybody there to help or not.
Result<Survey> survey(const net::Address& target, const SurveyOptions& options,
                      const sys::Clock& clock, std::int64_t until_ns);

// With a peer that echoes probes on the other end of the prober's flow. With Protocol::Tcp the hops
// are found by connection attempts to the target's port all the same.
Result<Survey> survey(UdpProber& flow, const SurveyOptions& options, const sys::Clock& clock,
                      std::int64_t until_ns);

}  // namespace chokepoint::probe::path
