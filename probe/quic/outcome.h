// The result of a test in one direction, from both ends' halves: bytes and time as they arrived at
// the receiver, the connection's state as the sender knew it. And the verdict, one sentence on what
// limited the test: it looks at the threads of both ends before the network, since an end without
// time makes the network look slow. A server that is another program reports nothing: what only it
// could know is nullopt then, and what arrived there is what it has acknowledged. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probe/quic/measurement.h"
#include "probe/quic/parameters.h"
#include "probe/quic/test.h"

namespace chokepoint::probe::quic {

struct Interval {
  double start_s = 0;
  double end_s = 0;
  std::uint64_t bytes = 0;
  double throughput_mbps = 0;
  std::optional<std::uint64_t> retransmits = {};
  std::optional<std::uint64_t> cwnd_bytes = {};
  std::optional<double> rtt_ms = {};
};

struct StreamOutcome {
  int stream = 0;
  std::uint64_t bytes = 0;
  double throughput_mbps = 0;
};

enum class Limit {
  Nothing,  // too little was measured to tell, or only another program could
  Asked,    // the pace that the user asked for
  SenderCpu,
  ReceiverCpu,
  FlowWindow,
  SendBuffer,  // the sender's interface, or its queue, took no more
  Loss,
  Marks,             // packets that the path marked instead of dropping them (ECN)
  Queue,             // the path is full: what is sent beyond its capacity waits in its queue
  CongestionWindow,  // its control does not let it grow, though hardly anything is lost
};

std::string_view name_of(Limit limit);

struct Verdict {
  Limit limit = Limit::Nothing;
  std::string sentence = {};
};

struct Outcome {
  Direction direction = Direction::Send;
  double duration_s = 0;
  double throughput_mbps = 0;
  double peak_mbps = 0;
  std::uint64_t bytes = 0;                 // that arrived
  std::optional<std::uint64_t> lost = {};  // packets sent less packets that arrived
  std::optional<double> loss_percent = {};
  std::optional<SentMeasure> sent = {};
  std::optional<ReceivedMeasure> received = {};
  std::optional<HostMeasure> sender_host = {};
  std::optional<HostMeasure> receiver_host = {};
  std::optional<double> sender_percent_per_gbps = {};
  std::optional<double> receiver_percent_per_gbps = {};
  std::vector<Interval> intervals = {};
  std::vector<StreamOutcome> streams = {};
  Verdict verdict = {};  // set by who called judge()
};

// Send or Receive; for a test of both, each in turn.
Outcome outcome_of(const Trial& trial, Direction direction);

// How the sentence names the two hosts.
struct Names {
  std::string sender = {};
  std::string receiver = {};
};

Verdict judge(const Outcome& outcome, const Parameters& parameters, const Names& names);

}  // namespace chokepoint::probe::quic
