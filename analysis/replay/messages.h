// Messages of a pipeline in a run's graph. A stage computes one thing at a time, and goes on while
// what it has sent is under way:
//
//   receive ──▶ computes ──▶ send              a stage between two others
//   receive ──▶ computes                       what no message follows: the first stage's backward
//                                              passes, the last one's forward passes
//
// Of the latter only the beginning is seen; how long they take follows from the stage's other
// computing, since a backward pass takes twice its forward pass.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/replay/graph_builder.h"

namespace chokepoint::analysis {

// Whether the rank has messages under way while it computes or waits for others: it announces what
// it will receive ahead of time.
bool announces_ahead(const std::vector<Exchange>& exchanges);

// Of a rank of a pipeline that announces what it will receive.
void add_stage(GraphBuilder& builder, std::size_t list, const LateBy& late);
// Of a message, both of whose ends are known; `before`: the one before it in the same direction,
// whose data had to pass first.
void add_message(GraphBuilder& builder, Part sent, Part received, std::optional<Part> before);

}  // namespace chokepoint::analysis
