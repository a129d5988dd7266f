// A whole TCP test from the client's end: both halves of it. Everything on the caller's thread but
// the streams.
#pragma once

#include <functional>

#include "base/control/client.h"
#include "base/sys/root.h"
#include "probe/tcp/measurement.h"
#include "probe/tcp/parameters.h"

namespace chokepoint::probe::tcp {

enum class Side { Client, Server };

struct Trial {
  Parameters parameters = {};
  Half client = {};
  Half server = {};
  bool interrupted = false;  // ended early by the user; what was measured is here
};

// For a live line: what each side saw of an interval, as it comes.
using Watcher = std::function<void(Side side, const IntervalMeasure& interval)>;

// `interrupt`: readable once the user wants it to end. `waiting` is told while others are ahead.
Result<Trial> run(control::Client& client, const Parameters& parameters, const sys::Root& root,
                  int interrupt, const Watcher& watcher, const control::Waiting& waiting);

}  // namespace chokepoint::probe::tcp
