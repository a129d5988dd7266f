// A record may state any number: no reader's time or memory follows from one. Each column that
// holds whole numbers is set to extreme values in turn, and every command that reads records reads
// this one, in a process with little time and memory.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "analysis/commands/commands.h"
#include "base/record/row.h"
#include "base/sys/sanitizers.h"
#include "tests/fakes/cli_run.h"
#include "tests/fuzz/made_record.h"

namespace chokepoint::analysis {
namespace {

using Words = std::vector<std::string>;

const cli::Program& program() {
  static const cli::Program kProgram{
      .name = "chokepoint",
      .version = "0",
      .purpose = "test",
      .sections =
          cli::one_section({compare_command(), diagnose_command(), export_command(), live_command(),
                            predict_command(), record_show_command(), report_command()})};
  return kProgram;
}

const std::vector<Words>& readings() {
  static const std::vector<Words> kAll{{"diagnose", "--all"},
                                       {"report", "--json"},
                                       {"export", "--to", "perfetto"},
                                       {"export", "--to", "json"},
                                       {"export", "--to", "prometheus"},
                                       {"compare", "--json"},
                                       {"live", "--once"},
                                       {"record", "show"},
                                       {"predict", "--link", "1G", "--from"}};
  return kAll;
}

// A reading takes some 20 ms and 50 MB.
constexpr rlim_t kMostSeconds = sys::kIsSanitized ? 60 : 4;
constexpr rlim_t kMostMoreBytes = rlim_t{512} << 20;

constexpr auto kExtremes =
    std::to_array<std::int64_t>({-1, std::numeric_limits<std::int32_t>::max(), record::kMostNumber,
                                 record::kMostNs, std::int64_t{1} << 20});

void limit(int resource, rlim_t most) {
  const rlimit both{most, most};
  setrlimit(resource, &both);
}

rlim_t address_space() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(getpagesize());
}

std::string text_of(const Words& reading) {
  std::string text;
  for (const std::string& word : reading) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

bool ends_well(const Words& reading, const std::filesystem::path& folder) {
  Words words = reading;
  words.push_back(folder);
  const fakes::CliRun run = fakes::run_cli(program(), words);
  const bool is_told = run.code == cli::ExitCode::Done || !run.err.empty();
  if (!is_told || run.err.contains("internal error")) {
    std::cerr << text_of(reading) << ": " << run.err << "\n";
    return false;
  }
  return true;
}

class Extremes : public testing::Test {
 protected:
  // In a process of its own, which a limit ends by a signal. One reading of each value, another
  // one each time.
  bool read_in_child(const fuzz::MadeRecord::Column& column) {
    const pid_t child = fork();
    if (child == 0) {
      limit(RLIMIT_CPU, kMostSeconds);
      if (!sys::kIsSanitized) {
        limit(RLIMIT_AS, address_space() + kMostMoreBytes);
      }
      _exit(read(column) ? 0 : 1);
    }
    turn_ += kExtremes.size();
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0;
  }

 private:
  bool read(const fuzz::MadeRecord::Column& column) {
    for (const std::int64_t value : kExtremes) {
      const Words& reading = readings().at(turn_ % readings().size());
      const char* const rows = turn_ % 2 == 0 ? "rowid = 1" : "1";
      ++turn_;
      record_.restore();
      record_.set(column, value, rows);
      if (!ends_well(reading, record_.folder())) {
        return false;
      }
    }
    return true;
  }

  fuzz::MadeRecord record_;
  std::size_t turn_ = 0;
};

TEST_F(Extremes, EachNumberMayBeAny) {
  for (const fuzz::MadeRecord::Column& column : fuzz::MadeRecord::number_columns()) {
    EXPECT_TRUE(read_in_child(column)) << column.table << "." << column.name;
  }
}

}  // namespace
}  // namespace chokepoint::analysis
