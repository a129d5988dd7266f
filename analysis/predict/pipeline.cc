#include "analysis/predict/pipeline.h"

#include <algorithm>
#include <vector>

namespace chokepoint::analysis {
namespace {

// When the last stage of a pass has its last micro-batch, of passes that start at 0. `arrival` is
// when each micro-batch reaches a stage.
double pass_ms(const Pipeline& pipeline, double compute_ms) {
  const auto count = static_cast<std::size_t>(pipeline.micro_batches);
  std::vector<double> arrival(count, 0);
  double stage_free = 0;
  for (std::size_t stage = 0; stage < static_cast<std::size_t>(pipeline.stages); ++stage) {
    stage_free = 0;
    double link_free = 0;
    for (double& at : arrival) {
      stage_free = std::max(stage_free, at) + compute_ms;
      link_free = std::max(link_free, stage_free) + pipeline.wire_ms;
      at = link_free + pipeline.latency_ms;
    }
  }
  return stage_free;
}

}  // namespace

double bubble_ms(const Pipeline& pipeline) {
  return (pipeline.forward_ms + pipeline.backward_ms) * (pipeline.stages - 1) /
         pipeline.micro_batches;
}

double blocking_pipeline_ms(const Pipeline& pipeline) {
  const double passes = pipeline.backward_ms > 0 ? 2 : 1;
  const double transfers =
      pipeline.stages > 1 ? passes * (pipeline.micro_batches + pipeline.stages - 2) : 0;
  return pipeline.forward_ms + pipeline.backward_ms + bubble_ms(pipeline) +
         transfers * (pipeline.wire_ms + pipeline.latency_ms);
}

double overlapped_pipeline_ms(const Pipeline& pipeline) {
  const double forward_ms = pass_ms(pipeline, pipeline.forward_ms / pipeline.micro_batches);
  return pipeline.backward_ms > 0
             ? forward_ms + pass_ms(pipeline, pipeline.backward_ms / pipeline.micro_batches)
             : forward_ms;
}

}  // namespace chokepoint::analysis
