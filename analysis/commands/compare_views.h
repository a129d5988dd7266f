// What `compare` shows of a comparison: the chokepoint.comparison/1 document, and a table with what
// is to be said of it as text, Markdown or CSV.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "analysis/compare/comparison.h"
#include "base/cli/context.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

// Columns behind the keys: figures, and what is none.
constexpr const char* kShowRuns = "runs";
constexpr const char* kShowChange = "change";
constexpr const char* kShowVerdict = "verdict";

struct Shown {
  Comparison comparison = {};
  std::vector<std::string> columns = {};
  bool are_keys_asked = false;  // by name
  bool are_columns_asked = false;
  std::optional<Figure> bars = {};  // of which figure each row has one below the table
};

// An Error where one is no figure.
Result<> check_columns(const std::vector<std::string>& columns);
// What is worth a column where nobody asked for any.
std::vector<std::string> usual_columns(const Comparison& comparison);

cli::Json document_of(const cli::Context& context, const Shown& shown);
void print_page(std::ostream& out, const cli::Terminal& terminal, const Shown& shown);
// Only what Shown::bars asks for.
void print_bars(std::ostream& out, const cli::Terminal& terminal, const Shown& shown);
void print_markdown(std::ostream& out, const Shown& shown);
void print_csv(std::ostream& out, const Comparison& comparison);

}  // namespace chokepoint::analysis
