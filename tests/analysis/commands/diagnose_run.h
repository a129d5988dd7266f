// `chokepoint diagnose` on a made run, in this process.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/commands/commands.h"
#include "tests/fakes/cli_run.h"

namespace chokepoint::analysis {

inline fakes::CliRun run_diagnose(std::vector<std::string> words) {
  words.insert(words.begin(), "diagnose");
  const cli::Program program{.name = "chokepoint",
                             .version = "0",
                             .purpose = "test",
                             .sections = cli::one_section({diagnose_command()})};
  return fakes::run_cli(program, words);
}

inline nlohmann::json diagnosis_of(const std::filesystem::path& folder) {
  const fakes::CliRun run = run_diagnose({folder.string(), "--json"});
  return run.code == cli::ExitCode::Done ? nlohmann::json::parse(run.out) : nlohmann::json();
}

}  // namespace chokepoint::analysis
