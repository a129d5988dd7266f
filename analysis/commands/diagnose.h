// chokepoint diagnose: where a run's time goes, what limits it, and what to change. diagnose.cc
// reads the run; confirm.cc tests its verdict; diagnose_page.cc and diagnose_document.cc show the
// diagnosis; `live`, `compare` and `report` use their parts. The caller's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/attribution/diagnosis.h"
#include "base/cli/command.h"
#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/math/units.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// With --exit-code: Found if the verdict names a bottleneck.
cli::ExitCode exit_code_of(const Verdict& verdict);

// The chokepoint.diagnosis/1 document.
cli::Json document_of(const cli::Context& context, const Diagnosis& diagnosis);
// The JSON Schema of all but its head, for docs/reference.
cli::Json diagnosis_schema();

// Five lines: verdict, accounting, evidence, advice, confidence.
void print_page(std::ostream& out, const cli::Terminal& terminal, const Diagnosis& diagnosis);

// What stands behind the five lines: the accounts as bars, all evidence, runners-up, ranks.
void print_details(std::ostream& out, const cli::Terminal& terminal, const Diagnosis& diagnosis);

// "lan-bandwidth: the link from a to b is full; 143 of 205 ms a step (70 %)"
std::string headline_of(const Diagnosis& diagnosis);

// critical_path_page.cc: what decided the step of median length, as a bar for each rank.
void print_critical_path(std::ostream& out, const cli::Terminal& terminal, const CriticalPath& path,
                         const std::vector<RankFigures>& ranks);

// "205.0 ms = 143.0 link full + 60.0 computing + 2.0 rest"
std::string accounting_text(const Accounting& accounting);

// The first thing to do.
Advice advice_of(const Diagnosis& diagnosis);

// A share of 1 as a bar of blocks; the bar of 1 has `letters`.
std::string share_bar(double share, double letters);

// Parts of a whole, so that they add up: all with as many decimals as suit the whole.
std::string part_text(double ms, double whole_ms);  // "143.0"
std::string whole_text(double whole_ms);            // "205.5 ms"

// "every 4 steps, 186.3 ms more each time; …"
std::string sentence_of(const RoundTimes& rounds);
// "steps take 83.2 % of the run's 120 s; start 12.1 s, 3 pauses 7.2 s, end 0.9 s"
std::string sentence_of(const Goodput& goodput);
// What a job's bytes were for.
cli::Table purposes_table(const std::vector<PurposeVolume>& purposes);

// "throughput from a to b 197 Mb/s"; without a source.
std::string evidence_text(const Evidence& evidence);
// Several, each with its source but where the next has the same: "x 1 ms, y 2 ms (packets of a)".
std::string evidence_text(const std::vector<Evidence>& evidence, std::size_t most);

// "a faster link: chokepoint predict --from runs/a --link 1G"
std::string advice_text(const Advice& advice);
// The same in lines of at most `width` letters behind an indent; a command that does not fit behind
// the words stands whole on a line of its own.
std::string with_command(const std::string& text, const std::string& command, int width,
                         int indent);

// confirm.cc: the tests of --confirm, run on the job's hosts once it is over, or beside it within
// the share that it allows, one after the other, each as `chokepoint ask` would be typed, and kept
// beside the run.

struct DiagnosedRun;

struct ConfirmFlags {
  bool is_wanted = false;
  std::chrono::nanoseconds time = std::chrono::minutes(2);  // of all tests together
  math::Rate most = {};                                     // of each test; 0: no limit
  std::int64_t share_percent = 100;       // of the time in which a path or processors are loaded
  std::vector<std::string> servers = {};  // NODE=HOST[:PORT]
  std::int64_t port = 0;                  // 0: the usual one
  std::string key_file = {};
};

void define_confirm(cli::Flags& flags, ConfirmFlags& confirm);

// Runs the tests and gives the diagnosis its confirmation. Whether the user ended it early; what
// was measured until then is saved. An Error where none measured anything.
Result<bool> confirm_run(const cli::Context& context, const std::string& folder,
                         const DiagnoseOptions& options, const ConfirmFlags& flags,
                         DiagnosedRun& diagnosed);

}  // namespace chokepoint::analysis
