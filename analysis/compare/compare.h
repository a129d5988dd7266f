// Puts runs side by side: rows, figures, scaling, differences. Pure: the same runs give the same
// comparison. Any thread.
#pragma once

#include "analysis/compare/grouping.h"

namespace chokepoint::analysis {

struct CompareOptions {
  std::vector<std::string> keys = {};  // empty: usual_keys()
  std::optional<Condition> baseline = {};
  std::optional<Figure> metric = {};  // empty: throughput where all runs tell it, else the step
  double least_percent = 1;
  std::string sort = {};  // empty: by the keys
  bool is_reversed = false;
  bool by_folder = false;  // folders make rows, whatever usual_keys() says
};

// An Error where a key, a baseline or an order is asked for that no run has. There is one run at
// least.
Result<Comparison> compare(std::vector<ComparedRun> runs, const CompareOptions& options);

}  // namespace chokepoint::analysis
