// One sentence on a test: what limited it, with the number that says so, and what would help. Looks
// at the host's CPU before the network, since a starved host makes the network look slow. Pure.
#pragma once

#include <string>
#include <string_view>

#include "probe/tcp/outcome.h"
#include "probe/tcp/parameters.h"

namespace chokepoint::probe::tcp {

enum class Limit {
  Nothing,  // too little was measured to tell
  Asked,    // the pace that was asked for
  SenderCpu,
  ReceiverCpu,
  Application,  // the sender had nothing to send
  SendBuffer,
  ReceiveWindow,
  Loss,
  Queue,      // the path is full: its queue holds what is sent on top
  Path,       // the path is full and its queue is short or policed
  SlowStart,  // over before the connection was up to speed
};

std::string_view name_of(Limit limit);

struct Verdict {
  Limit limit = Limit::Nothing;
  std::string sentence = {};
};

// The names that the sentence gives to both ends.
struct Ends {
  std::string sender = {};
  std::string receiver = {};
};

Verdict judge(const Outcome& outcome, const Parameters& parameters, const Ends& ends);

}  // namespace chokepoint::probe::tcp
