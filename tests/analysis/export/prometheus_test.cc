#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <regex>
#include <set>

#include "analysis/attribution/diagnose.h"
#include "analysis/export/formats.h"
#include "tests/analysis/export/made_export.h"

namespace chokepoint::analysis {
namespace {

using testing::HasSubstr;

// What the text format demands of every line, and what node_exporter demands on top: no times.
class Checker {
 public:
  explicit Checker(const std::string& text) {
    EXPECT_TRUE(text.ends_with('\n'));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      check(line);
    }
  }
  std::size_t samples() const { return seen_.size(); }

 private:
  void check(const std::string& line) {
    static const std::regex help(R"re(# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (?:[^\\]|\\\\|\\n)+)re");
    static const std::regex type("# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)");
    std::smatch parts;
    if (std::regex_match(line, parts, help)) {
      EXPECT_TRUE(helped_.insert(parts[1]).second) << "HELP twice: " << line;
      family_ = parts[1];
    } else if (std::regex_match(line, parts, type)) {
      EXPECT_EQ(parts[1], family_) << line;
      EXPECT_TRUE(typed_.insert(parts[1]).second) << "TYPE twice: " << line;
      EXPECT_EQ(parts[2] == "counter", family_.ends_with("_total")) << line;
    } else {
      check_sample(line);
    }
  }

  void check_sample(const std::string& line) {
    static const std::regex sample(
        R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+))re");
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(line, parts, sample)) << "not of the format: " << line;
    EXPECT_EQ(parts[1], family_) << "away from its family: " << line;
    EXPECT_TRUE(typed_.contains(parts[1])) << line;
    EXPECT_TRUE(seen_.insert(parts[1].str() + parts[2].str()).second) << "twice: " << line;
    std::size_t read = 0;
    std::stod(parts[3], &read);
    EXPECT_EQ(read, parts[3].str().size()) << line;
    check_labels(parts[2]);
  }

  static void check_labels(const std::string& labels) {
    static const std::regex label("([a-zA-Z_][a-zA-Z0-9_]*)=\"");
    static const std::regex value(R"re("(?:[^"\\]|\\.)*")re");
    const std::string names = std::regex_replace(labels, value, "\"");
    std::set<std::string> own;
    for (std::sregex_iterator name(names.begin(), names.end(), label), end; name != end; ++name) {
      EXPECT_TRUE(own.insert((*name)[1]).second) << "a label twice: " << labels;
    }
  }

  std::string family_;
  std::set<std::string> helped_;
  std::set<std::string> typed_;
  std::set<std::string> seen_;
};

std::string prometheus_of(const std::filesystem::path& folder) {
  return exported_text(folder, [](ExportedRun& run, cli::Output& out) {
    out.write(prometheus_text(run, diagnose(run.data(), {})));
  });
}

TEST(Prometheus, KeepsToTheFormat) {
  RunMaker run;
  make_full_run(run);
  const Checker checker(prometheus_of(run.folder()));
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
  const Checker checker(text);
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
