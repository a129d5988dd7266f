#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

Span Scene::span_of(std::size_t node) const {
  return steps.settled.empty() ? run.nodes[node].span
                               : Span{clocks.local_ns(node, steps.settled.front().start_ns),
                                      clocks.local_ns(node, steps.settled.back().end_ns)};
}

}  // namespace chokepoint::analysis
