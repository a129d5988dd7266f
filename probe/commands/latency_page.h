// What 'chokepoint probe latency' measured, and its page for people. Values and pure functions.
#pragma once

#include <optional>

#include "base/cli/context.h"
#include "base/documents/probe_latency.h"
#include "probe/latency/outcome.h"

namespace chokepoint::probe {

struct LatencyMeasured {
  documents::ProbeLatency document = {};
  latency::Idle idle = {};
  // By where the load went; `both`: both ways at once.
  std::optional<latency::Loaded> send = {};
  std::optional<latency::Loaded> receive = {};
  std::optional<latency::Loaded> both = {};
};

// Into the document what follows from the rest.
void add_figures(LatencyMeasured& measured);
void print_page(const cli::Context& context, const LatencyMeasured& measured);

}  // namespace chokepoint::probe
