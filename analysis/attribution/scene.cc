#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

Span settled_span(const RunData& run, const Clocks& clocks, const StepLine& steps,
                  std::size_t node) {
  return steps.settled.empty() ? run.nodes[node].span
                               : Span{clocks.local_ns(node, steps.settled.front().start_ns),
                                      clocks.local_ns(node, steps.settled.back().end_ns)};
}

}  // namespace chokepoint::analysis
