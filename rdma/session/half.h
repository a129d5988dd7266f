// What one side of a round has measured, and the steps that both sides take alike. Runs on the
// caller's thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/control/message.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "rdma/perf/test.h"
#include "rdma/session/station.h"
#include "rdma/session/watch.h"

namespace chokepoint::rdma::session {

struct Half {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  double duration_s = 0;
  std::optional<double> average_mbps = {};
  std::optional<double> peak_mbps = {};
  std::optional<double> messages_per_s = {};
  std::optional<std::uint64_t> mismatches = {};    // of what came here
  double cpu_percent = 0;                          // of the test's thread
  std::optional<math::Histogram> latency_ns = {};  // stays on its side
};

control::Json body_of(const Half& half);
Result<Half> half_in(const control::Json& body);

// The test itself. An error has the reason that matters.
Result<Half> run_half(const Station& station, const perf::Plan& plan, perf::Role role, Watch& watch,
                      const sys::Clock& clock);

// With check: whether this side's memory is what the other one has filled.
bool is_filled(const perf::Plan& plan, perf::Role role);
Result<> check_memory(const Station& station, const perf::Plan& plan, perf::Role role,
                      std::uint64_t messages, Watch& watch, Half& half);

}  // namespace chokepoint::rdma::session
