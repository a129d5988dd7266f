// What NCCL's network steps waited for, beside the findings that this bears on: the own GPU and the
// flush over PCIe beside a GPU's copies, the receiver's credit beside a receiver, the network
// beside a link or a path. It decides nothing: a wait for the own GPU is also one for its
// computing, one for credit also for a rank that has not come yet; and over sockets a receiver's
// back-pressure looks like the network. Pure.
#pragma once

#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

void add_nccl_waits(const DiagnosisInput& input, Findings& findings);

}  // namespace chokepoint::analysis
