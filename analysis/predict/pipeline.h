// A pipeline's step: every stage computes each micro-batch of the step forward and backward, and
// waits while the pipeline fills and drains. Pure functions.
//
//   stage 0   F1 F2 F3 ·  ·  B3 B2 B1
//   stage 1   ·  F1 F2 F3 B3 B2 B1 ·
#pragma once

namespace chokepoint::analysis {

struct Pipeline {
  double stages = 1;
  double micro_batches = 1;
  double forward_ms = 0;   // of a stage, all micro-batches
  double backward_ms = 0;  // likewise; 0: there is no such pass
  double wire_ms = 0;      // that a micro-batch keeps a link busy
  double latency_ms = 0;   // that it takes beyond
};

// (p−1)/m of what a stage computes.
double bubble_ms(const Pipeline& pipeline);

// A stage neither computes while it sends nor while it receives.
double blocking_pipeline_ms(const Pipeline& pipeline);

// Links carry one micro-batch while the stages compute others.
double overlapped_pipeline_ms(const Pipeline& pipeline);

}  // namespace chokepoint::analysis
