// chokepoint compare: many runs, or documents of probes, side by side, and what differs between
// them by more than noise. compare.cc reads the flags, compare_sources.cc the runs;
// compare_words.cc, compare_page.cc and compare_document.cc show the comparison: as a table of
// text or Markdown, as CSV, and as the chokepoint.comparison/1 document. All on the caller's
// thread; all but the sources is pure. Text from records is reduced to one line.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/compare/compare.h"
#include "analysis/compare/compared_run.h"
#include "analysis/compare/comparison.h"
#include "base/cli/context.h"
#include "base/cli/output.h"
#include "base/history/place.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

struct RunFolder {
  std::string path = {};    // of the run itself, or a document's file
  std::string folder = {};  // the argument that it came with
};

struct ComparedPlaces {
  std::vector<RunFolder> places = {};
  bool are_probes = false;  // documents and records of probes, else runs
};

// What the arguments stand for. A folder with records, or a record, is a run; another folder stands
// for all runs below it, ordered by name, numbers by size, or for the documents of probes where
// there is no run. A record that holds no job stands for the probes in it. An Error where runs and
// documents are named together.
Result<ComparedPlaces> compared_places(const std::vector<std::string>& arguments);

// How a run is read: judged, and held against earlier runs in the history.
struct RunReading {
  std::string samples_label = "samples_per_step";
  DiagnoseOptions judging = {};
  history::Flags history = {};
};

// Its remarks say where its steps differ from those of earlier runs.
Result<ComparedRun> read_run(const RunFolder& folder, const RunReading& reading,
                             const cli::Context& context);
// A document, or all that a record holds.
Result<std::vector<ComparedRun>> read_probes(const RunFolder& place);

// Columns behind the keys are figures and these.
constexpr const char* kShowRuns = "runs";
constexpr const char* kShowChange = "change";
constexpr const char* kShowVerdict = "verdict";

struct Shown {
  Comparison comparison = {};
  std::vector<std::string> columns = {};
  bool are_keys_asked = false;      // with --by
  bool are_columns_asked = false;   // with --show
  std::optional<Figure> bars = {};  // drawn for each row below the table
};

// An Error where one is no column.
Result<> check_columns(const std::vector<std::string>& columns);
// The columns that are shown without --show.
std::vector<std::string> usual_columns(const Comparison& comparison);

cli::Json document_of(const cli::Context& context, const Shown& shown);
// The JSON Schema of all but its head, for docs/reference.
cli::Json comparison_schema();
void print_page(std::ostream& out, const cli::Terminal& terminal, const Shown& shown);
// Only what Shown::bars asks for.
void print_bars(std::ostream& out, const cli::Terminal& terminal, const Shown& shown);
void print_markdown(std::ostream& out, const Shown& shown);
void print_csv(std::ostream& out, const Comparison& comparison);

// Whether any row has it.
bool is_known(const Comparison& comparison, Figure figure);
// All figures of runs; of documents those that any has.
std::vector<Figure> figures_in(const Comparison& comparison);

// How the values of a figure are written: one unit for all rows.
struct Scale {
  double factor = 1;
  std::string unit = {};  // "ktokens/s"; empty: none
  int decimals = 2;
};

Scale scale_of(const Comparison& comparison, Figure figure);
std::string written(double value, const Scale& scale);              // "55.01"
std::string written(const Estimate& estimate, const Scale& scale);  // "55.01 ± 0.20"

// "step 304.21 ms instead of 37.18 ms (1x2 Data), +718.2 % …: 210 ms more link full, 79 % of it"
std::string sentence_of(const Comparison& comparison, const Group& group);

// "+15.9 % worse", "+0.4 % noise"
std::string short_change(const Difference& difference);

// "GPUs per node"
std::string title_of_key(const std::string& key);

// Lines below the table: differences beyond noise, the worse ones first, and the number of others.
std::vector<std::string> differences_of(const Shown& shown);

// "bbr against cubic", and below it a line for each fact that its hosts differ in.
struct FactLines {
  std::string title = {};
  std::vector<std::string> lines = {};
};

// Rows with the same facts together.
std::vector<FactLines> facts_of(const Shown& shown);

// Remarks on runs, and why a usual column is missing.
std::vector<std::string> remarks_of(const Shown& shown);

// The table that text and Markdown share.
struct TableColumn {
  std::string title = {};        // "sample throughput (ktokens/s)"
  std::string short_title = {};  // "ktokens/s"
  bool is_number = false;
};

struct TableOfRows {
  std::vector<TableColumn> columns = {};
  std::vector<std::vector<std::string>> rows = {};  // not escaped
};

// "setup 2x1, parallelism DP": keys without a column, since all rows have the same.
std::string common_keys(const Shown& shown);

// Which means show the spread between repetitions.
enum class Spread { OfAll, OfMetric };

TableOfRows table_of(const Shown& shown, Spread spread = Spread::OfAll);

}  // namespace chokepoint::analysis
