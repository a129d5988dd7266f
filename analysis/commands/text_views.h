// What commands of this folder print of a run, besides a diagnosis.
//
// A report as text: its sections in words and tables, and how they look on a terminal and in
// Markdown, for where there is no browser. Values and pure functions.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "analysis/load/run_summary.h"
#include "analysis/report/report.h"
#include "base/cli/context.h"
#include "base/cli/output.h"
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

// Those that are not empty. The first has no title: the verdict.
std::vector<Section> sections_of(const Report& report);

void print_report(std::ostream& out, const cli::Terminal& terminal, const Report& report);
std::string markdown_of(const Report& report);

// What `record show` prints of a run with --json: the chokepoint.run/1 document.
cli::Json document_of(const cli::Context& context, const RunSummary& run);

}  // namespace chokepoint::analysis
