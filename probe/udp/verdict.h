// One sentence on a test: what the path carried and what stood in the way, with the number that
// says so. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probe/udp/outcome.h"
#include "probe/udp/search.h"

namespace chokepoint::probe::udp {

enum class Limit {
  Nothing,        // too little was measured to tell
  Asked,          // all that was asked for arrived
  Sender,         // the sending host did not get it out
  SenderQueue,    // the sending host's own interface was full, or dropped
  ReceiverQueue,  // the receiving socket overflowed
  Path,           // the network lost packets, or a queue in it filled up
};

std::string_view name_of(Limit limit);

struct Verdict {
  Limit limit = Limit::Nothing;
  std::string sentence = {};
};

// How the run came about, and what its ends are called.
struct Circumstances {
  double asked_bits_per_s = 0;  // 0: as fast as it goes
  bool searched = false;        // then `obstacle` tells what ended the search
  std::optional<Trial> obstacle = {};
  double most_loss = 0.001;
  std::string sender = {};
  std::string receiver = {};
};

Verdict judge(const Outcome& outcome, const Circumstances& circumstances);

}  // namespace chokepoint::probe::udp
