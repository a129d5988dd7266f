// What a run says about one direction, from both ends' reports: what was offered is the sender's
// word, what arrived the receiver's. Rates are of payload. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probe/udp/parameters.h"
#include "probe/udp/test.h"

namespace chokepoint::probe::udp {

struct Interval {
  double start_s = 0;
  double end_s = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t lost = 0;
  double throughput_mbps = 0;
  std::optional<double> jitter_ms = {};
};

struct StreamOutcome {
  SentFlow sent = {};
  ReceivedFlow received = {};
  double offered_mbps = 0;
  double throughput_mbps = 0;
};

struct Outcome {
  Direction direction = Direction::Send;
  std::size_t packet_bytes = 0;
  double duration_s = 0;  // of sending
  double offered_mbps = 0;
  double throughput_mbps = 0;
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t bytes = 0;
  std::uint64_t lost = 0;
  std::uint64_t lost_in_queue = 0;      // of the lost: by the receiving socket
  std::uint64_t dropped_by_sender = 0;  // of the lost: by the sender's own interface
  std::uint64_t skipped = 0;            // never sent, since the sender was kept from sending
  double blocked_s = 0;                 // the sender's own interface took no more
  std::uint64_t out_of_order = 0;
  std::uint64_t duplicates = 0;
  std::optional<double> jitter_ms = {};
  math::Distribution delay_ms = {};
  std::int64_t room_bytes = 0;
  bool segmented = false;
  std::optional<Burst> burst = {};  // the largest of any stream
  std::string error = {};
  std::vector<Interval> intervals = {};
  std::vector<StreamOutcome> streams = {};

  // For so much of the time that this is what held it up.
  bool interface_full() const {
    constexpr double kMuch = 0.02;
    return blocked_s > kMuch * duration_s;
  }
  // So much of its time's packets came in a hurry, after a pause, that a queue felt it.
  bool stalled() const;
  double loss() const {  // a share
    return packets_sent == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(packets_sent);
  }
};

// Send or Receive; for a run of both, each in turn.
Outcome outcome_of(const RunResult& result, const RunPlan& plan, Direction direction);

std::vector<Outcome> outcomes_of(const RunResult& result, const RunPlan& plan, Direction direction);

}  // namespace chokepoint::probe::udp
