// What a late rank transfers beside the exchange: data, checkpoints, weights. Pure.
#pragma once

#include <cstddef>

#include "analysis/attribution/findings.h"
#include "analysis/phases/phases.h"

namespace chokepoint::analysis {

// Whether its transfers explain why the rank is late; the verdict then has cause and evidence.
bool explain_by_transfers(const DiagnosisInput& input, const RankLateness& rank, Verdict& verdict);

}  // namespace chokepoint::analysis
