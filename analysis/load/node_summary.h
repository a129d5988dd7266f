// One node's part of a RunSummary. The caller's thread.
#pragma once

#include "analysis/load/run_summary.h"

namespace chokepoint::analysis {

NodeSummary summarize_node(record::Reader& reader, const SummaryOptions& options);

}  // namespace chokepoint::analysis
