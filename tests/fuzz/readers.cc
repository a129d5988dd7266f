// All that is told of a run whose records hold any values: times and counts at the ends of what
// they can be, rows that are there twice or not at all, hostile texts. Whatever they say, each
// command ends soon, and its documents are JSON.
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/commands/commands.h"
#include "tests/fakes/cli_run.h"
#include "tests/fuzz/made_record.h"

namespace {

using namespace chokepoint;

struct Reading {
  std::vector<std::string> words;
  bool is_json = false;
};

const std::vector<Reading>& readings() {
  static const std::vector<Reading> kAll{
      {{"diagnose", "--all"}},
      {{"report", "--json"}, true},
      {{"export", "--to", "perfetto"}},
      {{"compare", "--json"}, true},
      {{"report", "--format", "text"}},
      {{"export", "--to", "json"}, true},
      {{"diagnose", "--json"}, true},
      {{"export", "--to", "prometheus"}},
      {{"compare"}},
      {{"record", "show", "--json"}, true},
      {{"export", "--to", "perfetto", "--since", "100ms", "--until", "600ms"}},
      {{"record", "show"}},
      {{"predict", "--link", "1G", "--json", "--from"}, true},
      {{"report", "--format", "markdown"}},
  };
  return kAll;
}

fakes::CliRun read(const Reading& reading, const std::string& folder) {
  const cli::Program program{
      .name = "chokepoint",
      .version = "0",
      .purpose = "fuzz",
      .sections = cli::one_section({analysis::compare_command(), analysis::diagnose_command(),
                                    analysis::export_command(), analysis::predict_command(),
                                    analysis::record_show_command(), analysis::report_command()})};
  std::vector<std::string> words = reading.words;
  words.push_back(folder);
  return fakes::run_cli(program, words);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const fuzz::MadeRecord kRecord;
  fuzz::Bytes bytes({data, size});
  const Reading& reading = readings().at(bytes.below(readings().size()));
  kRecord.restore();
  kRecord.edit(bytes);
  const fakes::CliRun run = read(reading, kRecord.folder().string());
  if (run.code == cli::ExitCode::Usage) std::abort();
  if (run.code == cli::ExitCode::Done && reading.is_json && !nlohmann::json::accept(run.out)) {
    std::abort();
  }
  if (run.code != cli::ExitCode::Done && run.err.empty()) std::abort();
  return 0;
}
