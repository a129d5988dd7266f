// The result of a test in one direction, from both ends' halves: bytes and time as they arrived at
// the receiver, the connection's state as the sender's kernel knew it. And the verdict, one
// sentence on what limited the test: it looks at the hosts' CPUs before the network, since a host
// short of CPU makes the network look slow. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "base/documents/probe_tcp.h"
#include "probe/tcp/measurement.h"
#include "probe/tcp/parameters.h"
#include "probe/tcp/trial.h"

namespace chokepoint::probe::tcp {

using Limit = documents::TcpLimit;
using Shares = documents::TcpShares;
using Interval = documents::TcpInterval;

struct Verdict {
  Limit limit = Limit::Nothing;
  std::string sentence = {};
};

struct Outcome {
  Direction direction = Direction::Send;
  documents::TcpFigures figures = {};  // limit and summary are set by who called judge()
  std::optional<std::uint64_t> max_send_window_bytes = {};  // the largest of any stream
  // That handled most packets.
  std::optional<int> sender_softirq_core = {};
  std::optional<int> receiver_softirq_core = {};
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
