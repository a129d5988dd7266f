// The client's end of a sweep over TCP: a connection for each flow, each from another source port,
// which send one after the other, as fast as the path or the asked rate lets them, so that each has
// its member for itself. Each sends in two passes, whose results are independent of each other.
//
//   client                                            server
//     Request {flows, time_ns, tcp: true, …} ─────────►
//     ◄────────────────────────────────────── Ready {}
//     Attach × flows ══════════════════════════════════►
//     ◄────────────────────────────────────── Begin {}
//     data, of one flow at a time ═════════════════════►    the server drops it
//     Stop {} ─────────────────────────────────────────►
//     ◄───────────────────────────────────── Result {}
//
// Owns the connections and borrows the client; one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "base/control/client.h"
#include "base/math/groups.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/paths/exchange.h"

namespace chokepoint::probe::paths {

// What was acknowledged of a flow in one pass.
struct Pass {
  std::uint64_t bytes = 0;
  std::int64_t time_ns = 0;

  std::optional<double> bits_per_s() const;  // nothing where it did not have its turn
};

struct RateRecord {
  std::uint16_t source_port = 0;
  Pass first = {};
  Pass second = {};
  std::uint64_t retransmits = 0;  // segments
  std::optional<double> min_rtt_ms = {};
};

// Of both passes; nothing where one is missing.
std::optional<math::Halves> rates_of(const RateRecord& flow);

// The longest that a whole sweep may take, whatever its members carry.
std::chrono::nanoseconds longest_run(std::size_t flows, std::chrono::nanoseconds slice);

class RateSweep {
 public:
  static Result<RateSweep> open(control::Client& client, const Parameters& parameters,
                                int interrupt, const control::Waiting& waiting);

  // `slice`: of each flow in each pass. Flows that were fast in one pass alone have two more turns,
  // which replace both. Ends early once `interrupt` is readable.
  Result<> run(std::chrono::nanoseconds slice, int interrupt,
               const std::function<void(std::uint64_t turns)>& progress);
  // Ends the test. Once.
  Result<std::vector<RateRecord>> close();

 private:
  RateSweep(control::Client& client, std::vector<sys::Descriptor> connections)
      : client_(&client), connections_(std::move(connections)), records_(connections_.size()) {}
  // False once it was interrupted.
  Result<bool> run_pass(Pass RateRecord::* into, std::vector<std::size_t> flows,
                        std::chrono::nanoseconds slice, int interrupt,
                        const std::function<void()>& turn_ended);
  Result<Pass> send_for(std::size_t flow, std::chrono::nanoseconds slice, int interrupt);

  control::Client* client_;
  sys::SystemClock clock_;
  std::mt19937_64 random_{std::random_device{}()};
  std::vector<sys::Descriptor> connections_;
  std::vector<RateRecord> records_;
};

}  // namespace chokepoint::probe::paths
