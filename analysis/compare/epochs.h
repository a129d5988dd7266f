// How long the second epoch of a run took: the first has connections and caches to fill. Pure.
#pragma once

#include <optional>

#include "analysis/compare/compared_run.h"
#include "analysis/compare/step_rows.h"

namespace chokepoint::analysis {

// By marks of the name "epoch", one where each begins, else by steps whose number begins again.
// `rows` may be null.
std::optional<Told> second_epoch_s(const RunData& run, const StepRows* rows);

}  // namespace chokepoint::analysis
