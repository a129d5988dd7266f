// The parameters of a UDP test, and of each run in it. A search for the highest rate is many runs
// in one test, which keeps its turn at the server and its sockets. Directions are the client's:
// Send means from the client to the server. Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/sys/error.h"
#include "probe/udp/exchange.h"

namespace chokepoint::probe::udp {

using control::Direction;

struct Parameters {
  Direction direction = Direction::Send;
  int streams = 1;                                           // each way
  std::chrono::nanoseconds time = std::chrono::seconds(10);  // of the longest run
  // Of the fastest run, each way, all streams together. 0: as fast as it goes; nullopt: the client
  // searches for it, within the server's limits.
  std::optional<double> bits_per_s = {};
  bool share = false;  // may run beside other tests that share
};

control::Json body_of(const Parameters& parameters);
Result<Parameters> parameters_in(const control::Json& body);
Result<> check(const Parameters& parameters, const control::Limits& limits);

// How many flows the test needs. Those from the client to the server come first.
int flows_of(const Parameters& parameters);
bool is_upstream(const Parameters& parameters, int flow);

struct RunPlan {
  std::uint16_t run = 0;
  std::size_t packet_bytes = 0;
  double bits_per_s = 0;  // each way, all streams together; 0: as fast as it goes
  std::chrono::nanoseconds time = {};
  std::chrono::nanoseconds interval = std::chrono::seconds(1);
  // The peer's clock less that of the end that has this plan.
  std::optional<ClockOffset> peer_clock = {};
};

// As the other end needs it, with the clock offset reversed.
control::Json body_for_peer(RunPlan plan);
Result<RunPlan> run_plan_in(const control::Json& body);
Result<> check(const RunPlan& plan, const Parameters& parameters, const control::Limits& limits);

}  // namespace chokepoint::probe::udp
