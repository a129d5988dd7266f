// What `diagnose` shows of a diagnosis: the chokepoint.diagnosis/1 document, five lines for people,
// all of it for those who ask, and one line a look where a run is followed.
#pragma once

#include <string>

#include "analysis/attribution/diagnosis.h"
#include "base/cli/context.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

cli::Json document_of(const cli::Context& context, const Diagnosis& diagnosis);

// Verdict, accounting, evidence, advice, confidence.
void print_page(std::ostream& out, const cli::Terminal& terminal, const Diagnosis& diagnosis);

// What stands behind the five lines: the accounts as bars, all evidence, runners-up, ranks.
void print_details(std::ostream& out, const cli::Terminal& terminal, const Diagnosis& diagnosis);

// "lan-bandwidth: the link from a to b is full; 143 of 205 ms a step (70 %)"
std::string headline_of(const Diagnosis& diagnosis);

}  // namespace chokepoint::analysis
