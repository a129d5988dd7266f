// Findings about ranks: who came late, and who went away.
#pragma once

#include <optional>

#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

// Adds to what the network's findings are: a host that gets no processor comes late, too.
void add_late(const DiagnosisInput& input, Findings& findings);

// The rank that ended before the job did, and took it along.
std::optional<Verdict> gone_rank(const RunData& run);

}  // namespace chokepoint::analysis
