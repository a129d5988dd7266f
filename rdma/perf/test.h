// Runs one test over an endpoint that is connected: this side's part of it. The active side sends,
// reads or asks; the passive one answers, or has its memory used.
//
//             write, read, atomic bw     send, write-with-immediate bw    latency
//   active    posts, polls               posts, polls                     ping
//   passive   watches                    receives, refills                pong, or watches
//
// A test both ways has two active sides. Blocks the calling thread until the test has ended, or
// `monitor` stops it. Owns nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/math/histogram.h"
#include "base/sys/error.h"
#include "rdma/perf/plan.h"
#include "rdma/verbs/buffer.h"
#include "rdma/verbs/device.h"

namespace chokepoint::rdma::perf {

// Asked at most every few milliseconds, by the thread of the test.
class TestMonitor {
 public:
  virtual ~TestMonitor() = default;
  // False: end now, what was measured counts. An error (the peer is gone, the user interrupts): the
  // test failed.
  virtual Result<bool> go_on() = 0;
};

enum class Role { Active, Passive };

// What one side runs the test with; all of it outlives the test.
struct Side {
  Role role = Role::Active;
  verbs::Endpoint& endpoint;
  verbs::Buffer& buffer;
  const verbs::Region& region;
  verbs::RemoteMemory remote = {};
  TestMonitor& monitor;
  std::string peer = {};  // as errors name it
};

// How much of each side's memory a plan needs; the remote side needs as much.
std::uint64_t bytes_needed(const Plan& plan);
// The depths of the endpoint that a plan needs. With check they may be less than the plan's, as
// each message under way then has memory of its own.
int send_depth(const Plan& plan);
int receive_depth(const Plan& plan);

// What this side sent, or, on the passive side of a send or a write with immediate, received. All
// zero for a passive side that only has its memory used.
struct Outcome {
  std::uint64_t messages = 0;  // of all queue pairs, without those of the warm-up
  std::uint64_t received = 0;  // of an active side's messages both ways
  std::uint64_t resent = 0;    // retransmitted messages of a latency test over UC or UD
  std::uint64_t bytes = 0;
  std::int64_t duration_ns = 0;             // first post to last completion
  std::optional<double> average_mbps = {};  // 10^6 bit/s
  std::optional<double> peak_mbps = {};
  std::optional<double> messages_per_s = {};
  std::optional<math::Histogram> latency_ns = {};
  std::optional<std::uint64_t> mismatches =
      {};  // with check: messages that differ from what was sent
};

// Lays out requests and posts receives. Both sides have done so before either runs.
Result<> prepare(const Side& side, const Plan& plan);
Result<Outcome> run(const Side& side, const Plan& plan);
// With check, on the side whose memory was written or counted in, after `messages` of the other
// side: the mismatches among the last messages of each queue pair, as many as have memory of their
// own. 0 where messages were compared as they arrived: those mismatches are in the outcome.
Result<std::uint64_t> count_mismatches(const Side& side, const Plan& plan, std::uint64_t messages);
}  // namespace chokepoint::rdma::perf
