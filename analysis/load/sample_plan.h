// Which samples of the records are read: all, where they are few enough; else the small tables
// whole, and of the large ones what lies in windows that are spread over the job's steps, the same
// moments of all nodes. Where old detail was folded, half of what may be read is what is left of
// it, and half is in full detail. The caller's thread.
#pragma once

#include <array>
#include <tuple>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// The tables that can be large; steps are few.
using LargeTables = std::tuple<record::FlowSample, record::SocketSample, record::CounterSample,
                               record::GaugeSample, record::Collective, record::FlowMark>;
constexpr std::size_t kLargeTables = std::tuple_size_v<LargeTables>;

// What belongs to a session of that span: what was measured as it began or ended may lie a little
// outside of it.
Span with_slack(Span session);

struct SamplePlan {
  Span whole = {};
  std::vector<Span> windows = {};  // in order and apart; empty where all is read
  std::array<bool, kLargeTables> is_whole = {true, true, true, true, true, true};
};

// One for each node, whose spans, flows and steps are there.
std::vector<SamplePlan> plan_samples(record::Run& run, const LoadLimits& limits,
                                     const std::vector<NodeData>& nodes);

}  // namespace chokepoint::analysis
