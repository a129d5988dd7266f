// The result of a test in one direction, from both ends' halves: bytes and time as they arrived at
// the receiver, the connection's state as the sender knew it. And the verdict, one sentence on what
// limited the test: it looks at the threads of both ends before the network, since an end without
// time makes the network look slow. A server that is another program reports nothing: what only it
// could know is nullopt then, and what arrived there is what it has acknowledged. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "base/documents/probe_quic.h"
#include "probe/quic/measurement.h"
#include "probe/quic/parameters.h"
#include "probe/quic/test.h"

namespace chokepoint::probe::quic {

using Limit = documents::QuicLimit;
using Interval = documents::QuicInterval;

struct Verdict {
  Limit limit = Limit::Nothing;
  std::string sentence = {};
};

struct Outcome {
  Direction direction = Direction::Send;
  documents::QuicFigures figures = {};  // limit and summary are set by who called judge()
  // That handled most packets.
  std::optional<int> sender_softirq_core = {};
  std::optional<int> receiver_softirq_core = {};
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
