// One round of a test (one message size) on either side: the times that its steps may take, the
// messages that open it, the run itself and its result, and the Watch that can end it early. Called
// by the thread of the test.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/control/channel.h"
#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/net/deadline.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "rdma/perf/test.h"
#include "rdma/session/local_endpoint.h"
#include "rdma/session/negotiate.h"

namespace chokepoint::rdma::session {

// What a running test looks at beside its completions: the control connection, the user, and the
// clock. So a peer that dies, fails or stops ends the test at once.
class Watch final : public perf::TestMonitor {
 public:
  // `interrupt` is readable once this side's user wants it to end. `follows`: this side ends when
  // the other one has reported that it is done.
  Watch(control::Channel& channel, int interrupt, std::chrono::nanoseconds longest, bool follows)
      : channel_(channel),
        interrupt_(interrupt),
        deadline_(net::Deadline::of(longest)),
        follows_(follows) {}

  Result<bool> go_on() override;

  bool interrupted() const { return interrupted_; }
  const std::string& peer() const { return channel_.peer(); }

  // The peer's Stop message: already received, or waited for.
  Result<control::Json> peer_stopped(const net::Deadline& deadline);

  // Why the test failed: the peer's error if it sent one, since it is the cause of ours.
  Error reason(const Error& own);

 private:
  Result<> read_messages();
  Result<> handle(control::Message message);

  control::Channel& channel_;
  int interrupt_;
  net::Deadline deadline_;
  bool follows_;
  bool interrupted_ = false;
  std::optional<control::Json> stop_;
  bool peer_done_ = false;
  bool explained_ = false;  // the peer has sent its error; later ones only follow from it
};

inline constexpr std::chrono::seconds kSetUp{5};  // a step of the set-up
inline constexpr std::chrono::seconds kBetweenRounds{
    60};                                           // two rounds: checking GPU memory is slow
inline constexpr std::chrono::seconds kSlack{20};  // beyond the time of a test

// The time after which a round is aborted. One that ends by iterations has what the rounds before
// it left of the longest test that the server grants.
std::chrono::nanoseconds round_limit(const perf::Plan& plan, const control::Limits& limits,
                                     std::chrono::nanoseconds passed);

// The memory that the largest round needs; an error if the server does not grant it or its queues'.
Result<std::uint64_t> memory_for(const Agreement& agreement, const control::Limits& limits);

// The message that opens a round: its number, the client's plan, and the client's addresses.
control::Json opening_body(std::size_t round, const perf::Plan& plan, const SideAddresses& client);
// An error unless it is the round that is due, with the same plan.
Result<SideAddresses> opening_in(const control::Json& body, std::size_t round,
                                 const perf::Plan& plan);

// Lays out requests and receives on a connected side: from here on the peer may begin.
Result<> get_ready(const LocalEndpoint& endpoint, const perf::Plan& plan, perf::Role role,
                   Watch& watch);

// What one side of a round has measured.
struct SideResult {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  double duration_s = 0;
  std::optional<double> average_mbps = {};
  std::optional<double> peak_mbps = {};
  std::optional<double> messages_per_s = {};
  std::optional<std::uint64_t> mismatches = {};    // in what arrived at this side
  double cpu_percent = 0;                          // of the test's thread
  std::optional<math::Histogram> latency_ns = {};  // not sent to the peer
};

control::Json body_of(const SideResult& result);
Result<SideResult> side_result_in(const control::Json& body);

// The measurement. An error is the peer's if that is the cause.
Result<SideResult> run_side(const LocalEndpoint& endpoint, const perf::Plan& plan, perf::Role role,
                            Watch& watch, const sys::Clock& clock);

// With check: whether the other side writes into this side's memory.
bool is_filled(const perf::Plan& plan, perf::Role role);
Result<> check_memory(const LocalEndpoint& endpoint, const perf::Plan& plan, perf::Role role,
                      std::uint64_t messages, Watch& watch, SideResult& result);

}  // namespace chokepoint::rdma::session
