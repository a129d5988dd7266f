// The job's waits besides the network: for its next batch, a file's data, a write. They are known
// from readings of the first thread of each rank and of its loaders, outside of the time in which
// ranks exchanged, or waited for another rank.
//
//   every rank waits     the least of them takes part in every step: input, storage
//   one waits for longer the others wait for it: it is late, and that is why
#pragma once

#include <cstddef>
#include <cstdint>

#include "analysis/attribution/findings.h"

namespace chokepoint::analysis {

// What all ranks wait for beside the network: their next batch, a file's data, a write.
void add_input(const DiagnosisInput& input, Findings& findings);
// Makes that the cause of a rank's lateness, if it is; returns whether.
bool explain_by_input(const DiagnosisInput& input, std::size_t node, std::int64_t rank,
                      bool is_periodic, Verdict& verdict);

}  // namespace chokepoint::analysis
