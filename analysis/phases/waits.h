// RoCE's senders have no socket whose stopwatch runs while they wait for an answer: only packets
// tell. Silence that ends with what had been sent before was such a wait, and no computing.
//
//   data ████      ▒▒██████          ████████
//            ╰────╯                ╰──────── computing: what follows is new
//             waited: ▒ was sent before
//
// Pure.
#pragma once

#include <vector>

#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

bool is_roce(const FlowData& flow);

// Of one direction, in the time of the node that saw it.
Spans waits_of(const std::vector<record::FlowSample>& samples);

// Bytes of a bin that had been sent before, as a share of all; 0 where nothing moved.
double resent_share(const record::FlowSample& sample);

// The end of a connection whose packets are told by: both saw the same, and one clock is enough.
// That on `preferred` where it saw any.
std::optional<FlowPlace> telling_end(const RunData& run, const Connection& connection,
                                     std::size_t preferred);

}  // namespace chokepoint::analysis
