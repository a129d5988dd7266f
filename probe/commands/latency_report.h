// What probe latency shows: chokepoint.probe.latency/1, and the table for people.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "probe/latency/outcome.h"

namespace chokepoint::probe {

struct LatencyMeasured {
  std::chrono::nanoseconds gap = {};
  bool udp = false;
  std::string udp_problem = {};
  latency::Idle idle = {};
  std::optional<latency::Loaded> send = {};
  std::optional<latency::Loaded> receive = {};
  bool interrupted = false;
};

// Into `document`, which has its head already.
void add_to(cli::Json& document, const LatencyMeasured& measured);

void print_page(const cli::Context& context, const LatencyMeasured& measured);

}  // namespace chokepoint::probe
