// The steps of a run as its records have them, by who told of them. Rows are borrowed from the run,
// which outlives them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// One rank's, as one node saw them and one source told, in order.
struct StepRows {
  std::string node = {};
  record::StepSource source = record::StepSource::Traffic;
  std::int64_t rank = -1;  // -1: not known
  std::vector<const record::Step*> rows = {};

  std::int64_t count() const;  // of steps, of which a row may stand for several
};

// Rows that have no length are left out.
std::vector<StepRows> step_rows_of(const RunData& run);

// Of the best source the one with most steps; null where there is none.
const StepRows* main_rows(const std::vector<StepRows>& all);

double busy_ms(const record::Step& row);  // of all steps that it stands for

// A step's duration for each row, without the first ones, in which connections are made.
std::vector<double> settled_step_ms(const StepRows& rows);

}  // namespace chokepoint::analysis
