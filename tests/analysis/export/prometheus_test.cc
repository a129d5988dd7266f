#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "analysis/attribution/diagnose.h"
#include "analysis/export/formats.h"
#include "tests/analysis/export/made_export.h"
#include "tests/base/metrics/exposition_checker.h"

namespace chokepoint::analysis {
namespace {

using testing::HasSubstr;

std::string prometheus_of(const std::filesystem::path& folder) {
  return exported_text(folder, [](ExportedRun& run, cli::Output& out) {
    out.write(prometheus_text(run, diagnose(run.data(), {})));
  });
}

TEST(Prometheus, KeepsToTheFormat) {
  RunMaker run;
  make_full_run(run);
  const metrics::ExpositionChecker checker(prometheus_of(run.folder()));
  EXPECT_GT(checker.samples(), 30U);
}

TEST(Prometheus, TellsTheFinalFigures) {
  RunMaker run;
  make_full_run(run);
  const std::string text = prometheus_of(run.folder());
  const std::vector<std::string> wanted{
      R"(chokepoint_steps_total{run="made",source="marks"} 20)",
      R"(chokepoint_step_median_seconds{run="made",source="marks"} 0.1)",
      R"(chokepoint_retransmitted_packets_total{run="made",node="a"} 20)",
      R"(chokepoint_nic_sent_bytes_total{run="made",node="a",interface="eth0"} 5125000000)",
      R"(chokepoint_run_exit_status{run="made",node="b"} 0)",
      R"(label_parallelism="DP")",
      R"(chokepoint_verdict_info{run="made",class=)"};
  for (const std::string& line : wanted) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(Prometheus, AccountsSumToTheStep) {
  RunMaker run;
  make_full_run(run);
  const std::string text = prometheus_of(run.folder());
  double sum = 0;
  int accounts = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("chokepoint_step_account_seconds")) {
      sum += std::stod(line.substr(line.rfind(' ')));
      ++accounts;
    }
  }
  EXPECT_EQ(accounts, 13);
  EXPECT_NEAR(sum, 0.1, 1e-6);
}

TEST(Prometheus, OfARunThatTellsNothingSaysNothing) {
  RunMaker run;
  run.node({.rank = std::nullopt, .is_ended = false});
  run.finish();
  const std::string text = prometheus_of(run.folder());
  const metrics::ExpositionChecker checker(text);
  EXPECT_THAT(text, HasSubstr("chokepoint_run_complete{run=\"made\",node=\"a\"} 0\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("chokepoint_step")));
  EXPECT_THAT(text, testing::Not(HasSubstr("exit_status")));
}

// Prometheus' own program knows best, where it is.
TEST(Prometheus, IsWhatPromtoolReads) {
  if (std::system("command -v promtool >/dev/null") != 0) {
    GTEST_SKIP() << "needs promtool, of Debian's package prometheus";
  }
  RunMaker run;
  make_full_run(run);
  const std::filesystem::path file = run.folder() / "a.prom";
  std::ofstream(file) << prometheus_of(run.folder());
  EXPECT_EQ(std::system(("promtool check metrics < " + file.string() + " >/dev/null").c_str()), 0);
}

}  // namespace
}  // namespace chokepoint::analysis
