// Every number of a report's document that others tell, too, is the same there; and what it draws
// sums to what the records hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "analysis/commands/commands.h"
#include "tests/analysis/commands/made_pair.h"

namespace chokepoint::analysis {
namespace {

using nlohmann::json;

json document_of(cli::CommandFactory command, std::vector<std::string> words) {
  words.emplace_back("--json");
  const fakes::CliRun run = run_command(std::move(command), words);
  EXPECT_EQ(run.code, cli::ExitCode::Done) << run.err;
  return json::parse(run.out, nullptr, false);
}

class ReportNumbers : public testing::Test {
 protected:
  ReportNumbers()
      : folder_(pair_.folder()), report_(document_of(report_command(), {"report", folder_})) {}

  const json& track(const std::string& group, const std::string& node, const std::string& name) {
    for (const json& each : report_["timeline"]["tracks"]) {
      if (each["group"] == group && each["node"] == node && each["name"] == name) {
        return each;
      }
    }
    ADD_FAILURE() << "no track " << group << " " << node << " " << name;
    return nothing_;
  }

  // Of what is told a second, what the whole run had.
  double total_of(const json& track) {
    const json& edges = report_["timeline"]["axes"][track["axis"].get<std::size_t>()]["edges_s"];
    double total = 0;
    for (std::size_t bin = 0; bin < track["values"].size(); ++bin) {
      if (!track["values"][bin].is_null()) {
        total += track["values"][bin].get<double>() *
                 (edges[bin + 1].get<double>() - edges[bin].get<double>());
      }
    }
    return total;
  }

  MadePair pair_;
  std::string folder_;
  json report_;
  const json nothing_ = {};
};

TEST_F(ReportNumbers, TheSummaryIsWhatRecordShowTells) {
  json summary = document_of(record_show_command(), {"record", "show", folder_});
  json own = report_["summary"];
  for (json* each : {&summary, &own}) {
    each->erase("started_at");
    for (json& node : (*each)["nodes"]) {
      node.erase("rows");  // not counted for a page
    }
  }
  EXPECT_EQ(own, summary);
}

TEST_F(ReportNumbers, TheDiagnosisIsWhatDiagnoseTells) {
  json diagnosis = document_of(diagnose_command(), {"diagnose", folder_});
  json own = report_["diagnosis"];
  diagnosis.erase("started_at");
  own.erase("started_at");
  EXPECT_EQ(own, diagnosis);
}

TEST_F(ReportNumbers, TheAccountsOfAllStepsAreTheDiagnosis) {
  const json& accounting = report_["accounting"];
  const json& whole = report_["diagnosis"]["accounting_ms_per_step"];
  ASSERT_EQ(accounting["accounts"].size(), whole.size());
  const json& steps = accounting["steps"];
  ASSERT_GT(steps["number"].size(), 20U);
  for (std::size_t account = 0; account < whole.size(); ++account) {
    const auto expected = whole[accounting["accounts"][account].get<std::string>()].get<double>();
    EXPECT_EQ(accounting["total_ms_per_step"][account], expected);
    const auto ms = steps["ms"][account].get<std::vector<double>>();
    const double mean = std::reduce(ms.begin(), ms.end()) / static_cast<double>(ms.size());
    EXPECT_NEAR(mean, expected, 1e-3) << accounting["accounts"][account];
  }
}

TEST_F(ReportNumbers, EachStepsAccountsSumToTheStep) {
  const json& steps = report_["accounting"]["steps"];
  const json& shown = report_["timeline"]["steps"];
  for (std::size_t bar = 0; bar < steps["number"].size(); ++bar) {
    double sum = 0;
    for (const json& account : steps["ms"]) {
      sum += account[bar].get<double>();
    }
    const auto place = steps["number"][bar].get<std::size_t>() - 1;
    EXPECT_EQ(steps["start_s"][bar], shown["start_s"][place]);
    EXPECT_NEAR(sum,
                1e3 * (shown["end_s"][place].get<double>() - shown["start_s"][place].get<double>()),
                0.02);
  }
}

TEST_F(ReportNumbers, StepsAreTheRecords) {
  const json& steps = report_["timeline"]["steps"];
  EXPECT_EQ(steps["all"], MadePair::kSteps);
  EXPECT_EQ(steps["shown"], MadePair::kSteps);
  EXPECT_EQ(steps["source"], "marks");
  for (std::size_t step = 0; step < steps["start_s"].size(); ++step) {
    EXPECT_NEAR(steps["end_s"][step].get<double>() - steps["start_s"][step].get<double>(),
                MadePair::kStepMs / 1e3, 1e-4);
  }
}

TEST_F(ReportNumbers, CurvesSumToWhatTheRecordsHold) {
  const double seconds = MadePair::kCopyingMs / 1e3 * static_cast<double>(MadePair::kSteps);
  const double payload_megabits = MadePair::kBytesPerSecond * seconds * 8 / 1e6;
  EXPECT_NEAR(total_of(track("throughput", "a", "payload")), payload_megabits,
              payload_megabits / 500);
  const double counted = report_["summary"]["nodes"][0]["volume"]["sent_bytes"];
  const json& flow = report_["flows"][0];
  EXPECT_NEAR(flow["a_to_b"]["payload_bytes"].get<double>() * 8 / 1e6, payload_megabits, 1);
  EXPECT_EQ(counted, 9e7);
}

TEST_F(ReportNumbers, EveryTrackFitsItsAxisAndSaysWhereItIsFrom) {
  for (const json& track : report_["timeline"]["tracks"]) {
    const json& axis = report_["timeline"]["axes"][track["axis"].get<std::size_t>()];
    EXPECT_EQ(track["values"].size() + 1, axis["edges_s"].size());
    EXPECT_FALSE(track["source"].get<std::string>().empty());
    EXPECT_TRUE(track["flow"].is_null() ||
                track["flow"].get<std::size_t>() < report_["flows"].size());
  }
}

}  // namespace
}  // namespace chokepoint::analysis
