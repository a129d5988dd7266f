// The table that text and Markdown share: titles and cells, as they are read. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "analysis/commands/compare_views.h"

namespace chokepoint::analysis {

struct TableColumn {
  std::string title = {};        // "sample throughput (ktokens/s)"
  std::string short_title = {};  // "ktokens/s"
  bool is_number = false;
};

struct TableOfRows {
  std::vector<TableColumn> columns = {};
  std::vector<std::vector<std::string>> rows = {};  // not escaped
};

// "setup 2x1, parallelism DP": what all rows have and has no column; empty where there is none.
std::string common_keys(const Shown& shown);

// How much of the spread between repetitions stands behind the means.
enum class Spread { OfAll, OfMetric };

TableOfRows table_of(const Shown& shown, Spread spread = Spread::OfAll);

}  // namespace chokepoint::analysis
