// The result of a test in one direction, from both ends' halves: bytes and time as they arrived at
// the receiver, the connection's state as the sender's kernel knew it. And the verdict, one
// sentence on what limited the test: it looks at the hosts' CPUs before the network, since a host
// short of CPU makes the network look slow. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probe/tcp/measurement.h"
#include "probe/tcp/parameters.h"
#include "probe/tcp/trial.h"

namespace chokepoint::probe::tcp {

// Of the time, which one limited the sender.
struct Shares {
  double application = 0;
  double receive_window = 0;
  double send_buffer = 0;
  double network = 0;
};

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
  StreamMeasure sender = {};
  StreamMeasure receiver = {};
  double throughput_mbps = 0;
};

enum class Limit {
  Nothing,  // too little was measured to tell
  Asked,    // the pace that the user asked for
  SenderCpu,
  ReceiverCpu,
  Application,  // the sender had nothing to send
  SendBuffer,
  ReceiveWindow,
  Loss,
  Queue,      // the path is full: what is sent beyond its capacity waits in its queue
  Path,       // the path is full; its queue is short, or a policer limits it
  SlowStart,  // the test ended before the connection reached its speed
};

std::string_view name_of(Limit limit);

struct Verdict {
  Limit limit = Limit::Nothing;
  std::string sentence = {};
};

struct Outcome {
  Direction direction = Direction::Send;
  double duration_s = 0;
  std::uint64_t bytes = 0;           // measured, at the receiver
  std::uint64_t sent_bytes = 0;      // in total, by the sender's count
  std::uint64_t received_bytes = 0;  // in total, by the receiver's
  double throughput_mbps = 0;
  double peak_mbps = 0;
  std::optional<std::uint64_t> retransmits = {};
  std::optional<std::uint64_t> max_cwnd_bytes = {};         // of all streams together
  std::optional<std::uint64_t> max_send_window_bytes = {};  // the largest of any stream
  math::Distribution rtt_ms = {};                           // the sender's view
  math::Distribution receiver_rtt_ms = {};                  // the receiver's
  std::optional<double> min_rtt_ms = {};
  std::optional<std::int64_t> mss_bytes = {};
  std::string congestion_control = {};
  std::optional<Shares> limited_by = {};
  HostMeasure sender_host = {};
  HostMeasure receiver_host = {};
  std::vector<Interval> intervals = {};
  std::vector<StreamOutcome> streams = {};
  Verdict verdict = {};  // set by who called judge()
};

// Send or Receive; for a test of both, each in turn.
Outcome outcome_of(const Trial& trial, Direction direction);

// How the sentence names the two hosts.
struct Ends {
  std::string sender = {};
  std::string receiver = {};
};

Verdict judge(const Outcome& outcome, const Parameters& parameters, const Ends& ends);

}  // namespace chokepoint::probe::tcp
