// Findings about ranks: which arrived late, which got no processor time to send, which ended early.
#pragma once

#include <optional>

#include "analysis/attribution/findings.h"

namespace chokepoint::analysis {

// The rank that comes late, unless a host without processor time is found already, which is then
// the cause of the lateness.
void add_late(const DiagnosisInput& input, Findings& findings);

// Whether a late rank may be late by chance; then it is not the verdict. Where the job itself fills
// the processors that it computes on, its ranks differ by a tenth of a step by which core they get
// and what shares it. And few steps, in some of which the rank was late and in others not, do not
// show whether that goes on.
bool is_chance(const DiagnosisInput& input, const Verdict& verdict);
// The same where the steps are too few for any other verdict.
bool is_undecided(const DiagnosisInput& input, const Verdict& verdict);

// Moves time from computing to a sending host that is among the findings already: a sender that
// gets no processor computes as slowly as it sends, and in the phases both look like computing. A
// receiver's wait does not count: it may wait while there is nothing for it to do.
void add_starvation(const DiagnosisInput& input, Findings& findings);

// Whose failure ended the job: one rank's, which ended the others, too, or that of all nodes.
std::optional<Verdict> early_end(const RunData& run);

}  // namespace chokepoint::analysis
