// The load of the storage below a mount while the job ran, and its speed if `probe storage` has
// measured it: evidence in addition to the time that ranks waited for it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/attribution/findings.h"

namespace chokepoint::analysis {

// What a mount's storage did meanwhile, and what it can do where a probe measured it.
// `waits`: of the rank that waited to write there.
void add_reading(const DiagnosisInput& input, std::size_t node, const std::string& mount,
                 std::vector<Evidence>& evidence);
void add_writing(const DiagnosisInput& input, std::size_t node, const std::string& mount,
                 const SeriesData* waits, std::vector<Evidence>& evidence);
// Whether most of what was read there had been in memory shortly before.
bool is_read_again(const DiagnosisInput& input, std::size_t node, const std::string& mount);

}  // namespace chokepoint::analysis
