#include "analysis/evidence/tool_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/fakes/temporary_file.h"

namespace chokepoint::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kMinuteNs = 60'000'000'000;
constexpr std::int64_t kWallNs = 1'795'000'000'000'000'000;

// `at_ns` 0: it has no entry.
ToolFile dump(std::int64_t rank, std::int64_t at_ns, const std::string& file = "dump") {
  ToolFile made{.tool = Tool::FlightRecorder, .file = file, .ranks = {{.rank = rank}}};
  if (at_ns > 0) {
    made.span.include(at_ns - 1000, at_ns);
  }
  return made;
}

TEST(DumpsOfSeveralIncidents, AreThoseOfTheNewest) {
  std::vector<ToolFile> files{dump(0, kWallNs, "old"), dump(1, kWallNs + 1, "old"),
                              dump(0, kWallNs + 9 * kMinuteNs), dump(1, kWallNs + 9 * kMinuteNs),
                              dump(2, 0)};
  std::vector<Error> troubles;
  keep_newest_incident(files, troubles);
  EXPECT_THAT(files, SizeIs(3));
  EXPECT_THAT(troubles, SizeIs(2));
  EXPECT_EQ(troubles.at(0).subject, "old");
}

TEST(DumpsOfOneIncident, AreAllKept) {
  std::vector<ToolFile> files{dump(0, kWallNs), dump(1, kWallNs + 9 * kMinuteNs),
                              dump(0, kWallNs + 1000)};
  std::vector<Error> troubles;
  keep_newest_incident(files, troubles);
  EXPECT_THAT(files, SizeIs(3));
  EXPECT_THAT(troubles, IsEmpty());
}

TEST(ManyFiles, AreReadInTheirOrder) {
  constexpr int kFiles = 40;
  std::vector<std::unique_ptr<fakes::TemporaryFile>> kept;
  std::vector<std::string> paths;
  for (int at = 0; at < kFiles; ++at) {
    kept.push_back(std::make_unique<fakes::TemporaryFile>(
        at == 7
            ? "no such file"
            : fmt::format(R"({{"pg_config": {{"{}": {{"ranks": "[0]"}}}}, "entries": []}})", at)));
    paths.push_back(kept.back()->path());
  }
  const auto files = read_tool_files(paths);
  ASSERT_THAT(files, SizeIs(kFiles));
  for (int at = 0; at < kFiles; ++at) {
    ASSERT_EQ(files[static_cast<std::size_t>(at)].has_value(), at != 7);
    if (at != 7) {
      EXPECT_TRUE(
          files[static_cast<std::size_t>(at)]->ranks.at(0).states.contains(std::to_string(at)));
    }
  }
}

}  // namespace
}  // namespace chokepoint::analysis
