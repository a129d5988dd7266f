// What `compare` is told on its command line, read. Looks at folders only to tell them from
// conditions; the caller's thread.
#pragma once

#include <string>
#include <vector>

#include "analysis/compare/grouping.h"

namespace chokepoint::analysis {

// At the commas, without what is empty.
std::vector<std::string> split(const std::string& list);

// Empty: none. The option is named in the Error.
Result<std::optional<Figure>> figure_named(const std::string& option, const std::string& name);

// Empty: none. Not the scaling factor: a row has one, its runs have none.
Result<std::optional<Figure>> metric_of(const std::string& name);

struct Baseline {
  std::optional<Condition> condition = {};
  bool is_folder = false;  // then folders make rows
  std::string added = {};  // a folder that was not among the others
};

// "KEY=VALUE,KEY=VALUE", a folder that is compared or is to be; empty: none.
Result<Baseline> read_baseline(const std::string& text, const std::vector<std::string>& folders);

}  // namespace chokepoint::analysis
