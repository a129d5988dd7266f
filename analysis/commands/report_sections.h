// A report in words and tables, before anybody decides how these look: on a terminal, in a ticket.
// Values; sections_of() is pure.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "base/cli/table.h"

namespace chokepoint::analysis {

struct SectionTable {
  std::vector<cli::Column> columns = {};
  std::vector<std::vector<std::string>> rows = {};
};

struct Section {
  std::string title = {};
  std::vector<std::string> lines = {};
  std::vector<Advice> advice = {};
  SectionTable table = {};  // without rows: none
};

// Those that have something to tell. The first has no title: the verdict.
std::vector<Section> sections_of(const Report& report);

}  // namespace chokepoint::analysis
