// The result of a run in one direction, from both ends' reports: what was offered by the sender's
// count, what arrived by the receiver's. The same as a trial of a search for the highest rate, with
// what it failed for. And the verdict: one sentence on what the path carried and what limited it.
// Rates are of payload. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probe/udp/parameters.h"
#include "probe/udp/run_threads.h"
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

enum class Limit {
  Nothing,        // too little was measured to tell
  Asked,          // everything that was asked for arrived
  Sender,         // the sending host could not send it
  SenderQueue,    // the sending host's interface was full, or dropped packets
  ReceiverQueue,  // the receiving socket's queue overflowed
  Path,           // the network lost packets, or a queue in it filled up
};

std::string_view name_of(Limit limit);

struct Verdict {
  Limit limit = Limit::Nothing;
  std::string sentence = {};
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
  std::uint64_t dropped_by_sender = 0;  // of the lost: by the sender's interface
  std::uint64_t skipped = 0;            // never sent, since the sender was kept from sending
  double blocked_s = 0;                 // while the sender's interface took no more
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
  Verdict verdict = {};  // set by who called judge()

  // For so much of the time that it limited the sender.
  bool interface_full() const {
    constexpr double kMuch = 0.02;
    return blocked_s > kMuch * duration_s;
  }
  // The sender stalled, and then caught up with so many packets that a queue may have overflowed.
  bool stalled() const;
  double loss() const {  // a share
    return packets_sent == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(packets_sent);
  }
};

// Send or Receive; for a run of both, each in turn.
Outcome outcome_of(const RunResult& result, const RunPlan& plan, Direction direction);

std::vector<Outcome> outcomes_of(const RunResult& result, const RunPlan& plan, Direction direction);

enum class TrialEnd { Passed, Loss, ReceiverQueue, FillsQueue, Sender, Stalled };

// Of the direction that delivered less, where both were tried.
struct Trial {
  double bits_per_s = 0;  // asked for
  double offered_bits_per_s = 0;
  double delivered_bits_per_s = 0;
  double loss = 0;              // a share of what was sent
  double loss_in_queue = 0;     // the part of it that the receiving socket dropped
  bool interface_full = false;  // the sender's
  bool stalled = false;         // see Outcome::stalled
};

TrialEnd judge(const Trial& trial, double max_loss);

// From the outcome of each direction.
Trial trial_of(const std::vector<Outcome>& outcomes, double bits_per_s);

// What the run was for, and the names of its ends.
struct Circumstances {
  double asked_bits_per_s = 0;  // 0: as fast as it goes
  bool searched = false;        // then `obstacle` is what ended the search
  std::optional<Trial> obstacle = {};
  double max_loss = 0.001;
  std::string sender = {};
  std::string receiver = {};
};

Verdict judge(const Outcome& outcome, const Circumstances& circumstances);

}  // namespace chokepoint::probe::udp
