// Whether what looks like loss was an outage: an interface that went down, or a link that carried
// nothing for a while although no host saw it go.
#pragma once

#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

// Gives a verdict of loss the cause that explains it better.
void explain_loss(const DiagnosisInput& input, Verdict& verdict);

}  // namespace chokepoint::analysis
