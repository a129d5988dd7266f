// What a pipeline is, by its messages: its stages, its micro-batches, how long each stage computed,
// and what a step takes without a network. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/phases/exchanges.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

struct PipelineView {
  double stages = 0;
  double batches = 0;           // micro-batches a step
  double batch_compute_ns = 0;  // computing of a stage for one of them, forward and backward
  double message_bytes = 0;     // the usual one's
  bool is_forward_only = false;

  double ideal_step_ns() const { return (batches + stages - 1) * batch_compute_ns; }
};

// nullopt if the messages do not look like a pipeline's.
std::optional<PipelineView> pipeline_of(const Exchanges& exchanges, const Spans& steps);

// What the step would take if messages took no time: micro-batches times what a stage computes for
// each, and the filling of the pipeline. nullopt if the messages do not look like a pipeline's.
std::optional<double> ideal_step_ns(const Exchanges& exchanges, const Spans& steps);

// A pipeline's stages, by the places of their lists, each behind its neighbour on the way from the
// first one. That is the one that sends first in most steps, the last the other one that has a
// single neighbour.
struct PipelineEnds {
  std::size_t first = 0;
  std::size_t last = 0;
  std::vector<std::size_t> stages = {};
};

// Data parallel pipelines go side by side, and none of them has the stages of another. The one that
// sends first in most steps is the first.
std::vector<PipelineEnds> pipelines_in(const Exchanges& exchanges, const Spans& steps);

// A message sent, and how long its sender computed before: since its last message, or since it had
// received what it needs.
struct StageCompute {
  const Exchange* sent = nullptr;
  double ns = 0;
  bool has_received = false;  // what it needs came after its last message
};

// In the order in which they were sent.
std::vector<StageCompute> computes_of(const std::vector<Exchange>& exchanges);

}  // namespace chokepoint::analysis
