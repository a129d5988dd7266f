// The steps that lead into a round, on either side, and the times that they may take. Pure but for
// what the station does.
#pragma once

#include <chrono>

#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/sys/error.h"
#include "rdma/session/negotiate.h"
#include "rdma/session/station.h"
#include "rdma/session/watch.h"

namespace chokepoint::rdma::session {

inline constexpr std::chrono::seconds kSetUp{5};     // a step of the set-up
inline constexpr std::chrono::seconds kAnswer{10};   // what the peer has to compute first
inline constexpr std::chrono::seconds kBetween{60};  // rounds: buffers of GPUs are checked slowly
inline constexpr std::chrono::seconds kSlack{20};    // beyond the time of a test

// How long a round may last before it is given up. One that ends by iterations has what the rounds
// before it left of the longest test.
std::chrono::nanoseconds longest(const perf::Plan& plan, const control::Limits& limits,
                                 std::chrono::nanoseconds passed);

// The memory that the largest round needs, if the server grants it and what its queues take.
Result<std::uint64_t> memory_for(const Agreement& agreement, const control::Limits& limits);

// What opens a round: its number, how the client understands it, and where its side is found.
control::Json opening_body(std::size_t round, const perf::Plan& plan, const Whereabouts& client);
// Of the round that is due; an error where both sides understand it differently.
Result<Whereabouts> opening_in(const control::Json& body, std::size_t round,
                               const perf::Plan& plan);

// Lays everything out on a side that is connected: from here on the peer may begin.
Result<> get_ready(const Station& station, const perf::Plan& plan, perf::Role role, Watch& watch);

}  // namespace chokepoint::rdma::session
