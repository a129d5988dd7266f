// Made runs and what is exported of them, for tests.
#pragma once

#include <sstream>
#include <string>

#include "analysis/export/exported_run.h"
#include "base/cli/output.h"
#include "tests/analysis/export/trace_reader.h"
#include "tests/analysis/run_maker.h"

namespace chokepoint::analysis {

constexpr const char* kHostile =
    "=cmd|' /C calc'!A0, \"quoted\" <script>alert(1)</script>\n\x1b[31m\x01 \xff\xfe\xc3 \\ {}";

// Two ranks on two nodes whose clocks are a second apart, with rows of every kind.
void make_full_run(RunMaker& run);

// Opens a run's records and calls use(ExportedRun&).
template <class F>
void with_export(const std::filesystem::path& folder, std::optional<Span> wanted, F&& use) {
  Result<record::Run> records = record::open_run(folder);
  ExportedRun run("made", *records, wanted, {});
  use(run);
}

// What `write(run, out)` wrote.
template <class F>
std::string exported_text(const std::filesystem::path& folder, F&& write,
                          std::optional<Span> wanted = {}) {
  std::ostringstream text;
  with_export(folder, wanted, [&](ExportedRun& run) {
    const std::unique_ptr<cli::Output> out = cli::open_stream(text, "test");
    write(run, *out);
    if (!out->finish()) {
      text.str("failed");
    }
  });
  return text.str();
}

TraceContent exported_trace(const std::filesystem::path& folder, std::optional<Span> wanted = {});

}  // namespace chokepoint::analysis
