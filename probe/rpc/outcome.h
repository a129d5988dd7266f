// The result of a test of calls: how many, how long each took, and where that time went: at each
// worker, and on the way to it. Only times of one clock are compared, so the hosts' clocks may
// differ:
//
//   client      |────────── latency ──────────|
//   worker          |───── held ──────|           network: latency − held
//   next worker         |─ latency ─|             worker's own: held − the latency that it sees
//
// And the verdict, one sentence on what limited the calls. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probe/rpc/measurement.h"
#include "probe/rpc/parameters.h"
#include "probe/rpc/test.h"

namespace chokepoint::probe::rpc {

enum class Limit {
  Nothing,  // no call was answered
  ClientCpu,
  WorkerCpu,
  Worker,    // one held the calls for most of their time
  Outliers,  // few calls that took very long, without loss
  Loss,      // calls that waited for a retransmission
  Nagle,     // a small message waited for the acknowledgement of the one before
  ReceiveWindow,
  SendBuffer,
  Path,       // full
  Window,     // a message is larger than the congestion window when it begins
  RoundTrip,  // a call costs one, and no more calls were outstanding
  Hosts,      // waking up and passing on takes longer than the way
};

}  // namespace chokepoint::probe::rpc

template <>
struct chokepoint::EnumNames<chokepoint::probe::rpc::Limit> {
  using E = probe::rpc::Limit;
  static constexpr std::string_view kWhat = "what limited calls";
  static constexpr auto kNames = std::to_array<EnumName<E>>({{E::Nothing, "nothing"},
                                                             {E::ClientCpu, "client-cpu"},
                                                             {E::WorkerCpu, "worker-cpu"},
                                                             {E::Worker, "worker"},
                                                             {E::Outliers, "outliers"},
                                                             {E::Loss, "loss"},
                                                             {E::Nagle, "nagle"},
                                                             {E::ReceiveWindow, "receive-window"},
                                                             {E::SendBuffer, "send-buffer"},
                                                             {E::Path, "path"},
                                                             {E::Window, "congestion-window"},
                                                             {E::RoundTrip, "round-trip"},
                                                             {E::Hosts, "hosts"}});
};

namespace chokepoint::probe::rpc {

using chokepoint::name_of;

struct Verdict {
  Limit limit = Limit::Nothing;
  std::string sentence = {};
};

// Means in milliseconds: they add up to the mean latency of the first hop.
struct HopOutcome {
  Hop hop = {};
  std::string caller = {};  // its host
  double network_ms = 0;
  double own_ms = 0;  // held by the worker, less its own calls to the next one
  std::optional<double> network_percent = {};  // of the client's latency
  std::optional<double> own_percent = {};
  // How many round trips of the path the median call took, without what the worker held it.
  std::optional<double> round_trips = {};
};

struct Outcome {
  std::uint64_t calls = 0;
  double calls_per_s = 0;
  double request_mbps = 0;  // payload, there
  double response_mbps = 0;
  std::vector<HopOutcome> hops = {};
  Verdict verdict = {};
};

Outcome outcome_of(const Trial& trial, const std::string& client);

// Where the hosts' families differ: the same calls over the other one.
struct FamilyLook {
  std::string family = {};  // "IPv4"
  std::string address = {};
  double calls_per_s = 0;
  Spread latency_ms = {};
};

// nullopt where they differ by no more than chance and busy hosts make them.
std::optional<std::string> family_difference(const std::string& name, const FamilyLook& used,
                                             const FamilyLook& other);

}  // namespace chokepoint::probe::rpc
