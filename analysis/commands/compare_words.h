// A comparison in words: numbers with units that suit a column, differences as sentences.
// Text that came from records is in one line. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "analysis/commands/compare_views.h"

namespace chokepoint::analysis {

// How the values of a figure are written: one unit for all rows.
struct Scale {
  double factor = 1;
  std::string unit = {};  // "ktokens/s"; empty: none
  int decimals = 2;
};

Scale scale_of(const Comparison& comparison, Figure figure);
std::string written(double value, const Scale& scale);              // "55.01"
std::string written(const Estimate& estimate, const Scale& scale);  // "55.01 ± 0.20"

std::string change_text(double percent);  // "+15.9 %"

// "step 304.21 ms instead of 37.18 ms (1x2 Data), +718.2 % …: 210 ms more link full, 79 % of it"
std::string sentence_of(const Comparison& comparison, const Group& group);

// "+15.9 % worse", "+0.4 % noise"
std::string short_change(const Difference& difference);

// "GPUs per node"
std::string title_of_key(const std::string& key);

// What the table cannot say: differences beyond noise, the worse ones first, and how many are none.
std::vector<std::string> differences_of(const Shown& shown);

// What there is to know: of runs, and why a column that is usually there is not.
std::vector<std::string> remarks_of(const Shown& shown);
std::vector<std::string> left_out_of(const Comparison& comparison);

}  // namespace chokepoint::analysis
