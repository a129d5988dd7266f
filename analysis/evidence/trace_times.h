// From a trace's spans to the parts of its rank's time. Pure.
//
//   with kernels     computing: kernels | collectives beside none | copies | loading | rest
//   without          loading | operators | collectives beside neither | rest
//
// Each part without those before it, so that they sum to the window. The rest is the program's own:
// Python, or on a GPU that it has nothing to do.
#pragma once

#include <string>

#include "analysis/evidence/tool_file.h"
#include "analysis/evidence/trace_spans.h"

namespace chokepoint::analysis {

ToolFile file_of_trace(TraceSpans trace, const std::string& file);

}  // namespace chokepoint::analysis
