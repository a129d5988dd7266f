// What `probe latency` measured, as its document chokepoint.probe.latency/1 and as the page for
// people. Values and pure functions.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "probe/latency/outcome.h"

namespace chokepoint::probe {

struct LatencyMeasured {
  std::chrono::nanoseconds gap = {};
  bool udp = false;
  std::string udp_problem = {};
  latency::Idle idle = {};
  // By where the load went; `both`: both ways at once.
  std::optional<latency::Loaded> send = {};
  std::optional<latency::Loaded> receive = {};
  std::optional<latency::Loaded> both = {};
  bool interrupted = false;
};

// Into `document`, which has its head already.
void add_to(cli::Json& document, const LatencyMeasured& measured);
void print_page(const cli::Context& context, const LatencyMeasured& measured);

}  // namespace chokepoint::probe
