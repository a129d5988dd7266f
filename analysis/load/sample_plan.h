// Which samples of the records are read: all, if they are few enough; else the small tables whole,
// and of the large ones what lies in windows that are spread over the job's steps, the same moments
// of all nodes. If old detail was folded, half of what may be read is what is left of it, and half
// is in full detail. The caller's thread.
#pragma once

#include <array>
#include <functional>
#include <tuple>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// The tables that can be large; steps are few.
using LargeTables = std::tuple<record::FlowSample, record::SocketSample, record::CounterSample,
                               record::GaugeSample, record::Collective, record::FlowMark>;
constexpr std::size_t kLargeTables = std::tuple_size_v<LargeTables>;

// The span of a session's rows: what was measured as it began or ended may lie a little outside.
Span with_slack(Span session);

struct SamplePlan {
  Span whole = {};
  std::vector<Span> windows = {};  // in order and apart; empty if all is read
  std::array<bool, kLargeTables> is_whole = {true, true, true, true, true, true};
};

// One for each node, whose spans, flows and steps are there.
std::vector<SamplePlan> plan_samples(record::Run& run, const LoadLimits& limits,
                                     const std::vector<NodeData>& nodes);

struct WindowsWanted {
  Span span = {};
  double rows = 0;            // to be read at most, roughly
  std::size_t most = 40;      // number of windows
  std::int64_t least_ns = 0;  // shortest useful window: rather fewer windows than shorter ones
  bool from_start = true;     // the first begins with the span, the last ends with it
  bool to_end = true;
};

// Windows in a span that cannot be read whole, in order and apart. `rows_until` returns how many
// rows end before a moment. Pure.
std::vector<Span> spread_windows(const WindowsWanted& wanted,
                                 const std::function<double(std::int64_t)>& rows_until);

}  // namespace chokepoint::analysis
