#include "analysis/confirm/saved_tests.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

namespace chokepoint::analysis::confirm {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string saved(const std::vector<TestResult>& results) {
  json::Json document{{"schema", Fields<SavedDocument>::kSchema}};
  document.update(json::to_json(document_of(
      {.run = "r", .verdict = VerdictClass::LanLoss, .cost_s = 1.5, .results = results})));
  return document.dump();
}

TEST(SavedTests, ComesBackWithItsDocumentsAndWithoutWhatFollows) {
  const auto found = parse_saved(
      saved({{.kind = TestKind::Loss,
              .on = "a",
              .to = "b",
              .address = "10.0.0.2",
              .at = "2026-11-27T04:00:00.000Z",
              .beside_job = true,
              .command = "chokepoint ask",
              .document = R"({"lost":3})",
              .value = 3,
              .unit = "%",
              .support = Support::For,
              .sentence = "lost"},
             {.kind = TestKind::Storage, .on = "a", .folder = "/data", .failure = "refused"}}));
  ASSERT_TRUE(found) << describe(found.error());
  EXPECT_EQ(found->run, "r");
  EXPECT_EQ(found->verdict, VerdictClass::LanLoss);
  EXPECT_EQ(found->cost_s, 1.5);
  const std::vector<TestResult>& results = found->results;
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_EQ(results.at(0).document, R"({"lost":3})");
  EXPECT_EQ(results.at(0).address, "10.0.0.2");
  EXPECT_TRUE(results.at(0).beside_job);
  EXPECT_EQ(results.at(0).support, Support::Nothing);
  EXPECT_FALSE(results.at(0).value);
  EXPECT_EQ(results.at(1).failure, "refused");
  EXPECT_EQ(results.at(1).document, "");
}

std::string with_tests(std::string_view tests) {
  return std::string(R"({"schema":"chokepoint.confirmation/1","run":"r","class":"input",)") +
         "\"tests\":" + std::string(tests) + "}";
}

TEST(SavedTests, IsRefusedWhereItIsSomethingElse) {
  const std::string long_name(300, 'a');
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"),
        std::string(R"({"schema":"chokepoint.run/1","tests":[]})"), with_tests("{}"),
        with_tests("[1]"), with_tests(R"([{"test":"shell","on":"a","document":null}])"),
        with_tests(R"([{"test":"loss","document":null}])"), with_tests(R"([], "cost_s":-1)"),
        saved({{.on = long_name}}), saved(std::vector<TestResult>(kMaxSavedTests + 1))}) {
    EXPECT_FALSE(parse_saved(text)) << text.substr(0, 100);
  }
}

TEST(SavedTests, OfAnEarlierVersionSaysNothingOfARunningJob) {
  const auto found = parse_saved(with_tests(R"([{"test":"loss","on":"a","document":null}])"));
  ASSERT_TRUE(found) << describe(found.error());
  EXPECT_EQ(found->cost_s, 0);
  EXPECT_FALSE(found->results.at(0).beside_job);
}

TEST(SavedTests, LiesBesideTheRecords) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "chokepoint-saved";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  EXPECT_THAT(read_saved(folder).value().results, IsEmpty());
  EXPECT_EQ(saved_file(folder / "a.db"), folder / "confirmation.json");
  std::ofstream(saved_file(folder)) << saved({{.on = "a", .failure = "refused"}});
  EXPECT_THAT(read_saved(folder).value().results, SizeIs(1));
  EXPECT_THAT(read_saved(folder / "a.db").value().results, SizeIs(1));
  std::ofstream(saved_file(folder)) << "{";
  const auto broken = read_saved(folder);
  ASSERT_FALSE(broken);
  EXPECT_THAT(describe(broken.error()), HasSubstr("confirmation.json"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace chokepoint::analysis::confirm
