// Command lines that a command refuses before it does anything, run in this process: a start of the
// program for each costs a hundred times as much.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/cli_run.h"

namespace chokepoint::fakes {

struct Mistake {
  std::string line;     // words with a blank between each
  std::string subject;  // that the message names: the flag, the path
  cli::ExitCode code = cli::ExitCode::Usage;
};

// Each ends with its exit code and one line that names the subject; standard output stays empty.
inline void expect_mistakes(cli::Registry commands, const std::vector<Mistake>& mistakes) {
  const cli::Program program{.name = "chokepoint",
                             .version = "0",
                             .purpose = "",
                             .sections = cli::one_section(std::move(commands))};
  for (const Mistake& each : mistakes) {
    SCOPED_TRACE(each.line);
    std::istringstream line(each.line);
    std::vector<std::string> words;
    for (std::string word; line >> word;) {
      words.push_back(word);
    }
    const CliRun run = run_cli(program, words);
    EXPECT_EQ(run.code, each.code) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_TRUE(run.err.starts_with("chokepoint: ")) << run.err;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_NE(run.err.find(each.subject), std::string::npos) << run.err;
  }
}

}  // namespace chokepoint::fakes
