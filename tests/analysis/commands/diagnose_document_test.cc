#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/commands/diagnose.h"
#include "tests/analysis/commands/made_diagnosis.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::analysis {
namespace {

using cli::Json;

Json document(const Diagnosis& diagnosis) {
  std::ostringstream out;
  const fakes::ManualClock clock;
  const cli::Context context{.out = out,
                             .err = out,
                             .clock = clock,
                             .root = sys::Root("/nowhere"),
                             .environment = [](const std::string&) { return std::nullopt; },
                             .out_terminal = {},
                             .err_terminal = {}};
  return document_of(context, diagnosis);
}

TEST(DiagnoseDocument, IsThatOfTheContract) {
  const Json written = document(full_link());
  EXPECT_EQ(written["schema"], "chokepoint.diagnosis/1");
  EXPECT_EQ(written["run"], "runs/a");
  EXPECT_EQ(written["labels"]["setup"], "2x1");
  EXPECT_EQ(written["complete"], true);
  EXPECT_EQ(written["steps"]["count"], 412);
  EXPECT_EQ(written["steps"]["source"], "marks");
  const Json& accounts = written["accounting_ms_per_step"];
  ASSERT_EQ(accounts.size(), kAccounts);
  EXPECT_EQ(accounts["link"], 143.0);
  EXPECT_EQ(accounts["receiver_host"], 0.0);
  const Json& verdict = written["verdict"];
  EXPECT_EQ(verdict["class"], "lan-bandwidth");
  EXPECT_EQ(verdict["cause"], "line-rate");
  EXPECT_EQ(verdict["where"]["from"], "a");
  EXPECT_EQ(verdict["where"]["to"], "b");
  EXPECT_EQ(verdict["lost_ms_per_step"], 143.0);
  EXPECT_EQ(verdict["share_percent"], 69.6);
  EXPECT_EQ(verdict["confidence"], 0.92);
  EXPECT_EQ(verdict["evidence"][0]["value"], 197.4);
  EXPECT_EQ(verdict["evidence"][0]["unit"], "mbps");
  EXPECT_EQ(verdict["evidence"][0]["from"], "socket samples of a");
  EXPECT_EQ(verdict["advice"].size(), 2U);
  EXPECT_EQ(verdict["advice"][1], "compress gradients");
  EXPECT_EQ(verdict["commands"], Json::array({"chokepoint predict --from DIR --link 1G"}));
  const Json& path = written["critical_path"];
  EXPECT_EQ(path["step"], 206);
  EXPECT_EQ(path["length_ms"], 205.5);
  ASSERT_EQ(path["parts"].size(), 3U);
  EXPECT_EQ(path["parts"][1]["kind"], "late");
  EXPECT_EQ(path["parts"][1]["to_rank"], nullptr);
  EXPECT_EQ(path["parts"][2]["to_rank"], 0);
  EXPECT_EQ(path["parts"][2]["start_ms"], 62.5);
  EXPECT_EQ(written["others"][0]["class"], "lan-latency");
  EXPECT_EQ(written["ranks"][1]["waiting_ms"], 1.5);
  EXPECT_EQ(written["missing"].size(), 2U);
}

TEST(DiagnoseDocument, HasWhatTestsSaid) {
  Diagnosis diagnosis = full_link();
  diagnosis.plan = {{.kind = TestKind::Loss, .on = "a", .to = "b", .time_s = 2}};
  diagnosis.confirmation = {
      .state = Confirmation::State::NotConfirmed,
      .sentence = "not confirmed: it carries more",
      .confidence_before = 0.9,
      .tests = {
          {.kind = TestKind::OtherProcessor, .on = "b", .value = 7, .support = Support::Against}}};
  const Json written = document(diagnosis);
  EXPECT_EQ(written["plan"][0]["test"], "loss");
  const Json& confirmation = written["confirmation"];
  EXPECT_EQ(confirmation["state"], "not-confirmed");
  EXPECT_EQ(confirmation["leads_to"], nullptr);
  EXPECT_EQ(confirmation["tests"][0]["test"], "other-processor");
  EXPECT_EQ(confirmation["tests"][0]["says"], "against");
  EXPECT_EQ(confirmation["tests"][0]["failure"], nullptr);
}

TEST(DiagnoseDocument, WhatIsUnknownIsNull) {
  const Json written = document({});
  EXPECT_EQ(written["confirmation"], nullptr);
  EXPECT_TRUE(written["steps"]["count"].is_null());
  EXPECT_TRUE(written["steps"]["median_ms"].is_null());
  EXPECT_TRUE(written["accounting_ms_per_step"].is_null());
  EXPECT_TRUE(written["critical_path"].is_null());
  EXPECT_EQ(written["verdict"]["class"], "unknown");
  for (const char* key : {"cause", "lost_ms_per_step", "share_percent", "disproof"}) {
    EXPECT_TRUE(written["verdict"][key].is_null()) << key;
  }
  for (const auto& [key, value] : written["verdict"]["where"].items()) {
    EXPECT_TRUE(value.is_null()) << key;
  }
  Diagnosis silent = full_link();
  silent.verdict.evidence[0].value.reset();
  EXPECT_TRUE(document(silent)["verdict"]["evidence"][0]["value"].is_null());
}

}  // namespace
}  // namespace chokepoint::analysis
