#include "probe/local/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

namespace chokepoint::probe::storage {
namespace {

using namespace std::chrono_literals;

class StorageSurvey : public testing::Test {
 protected:
  StorageSurvey() { std::filesystem::create_directories(plan_.folder); }
  ~StorageSurvey() override { std::filesystem::remove_all(plan_.folder); }
  StorageSurvey(const StorageSurvey&) = delete;
  StorageSurvey& operator=(const StorageSurvey&) = delete;

  Plan plan_{.folder = std::filesystem::temp_directory_path() /
                       ("storage-survey-" + std::to_string(getpid())),
             .bytes = std::uint64_t{8} << 20,
             .time = 100ms,
             .threads = 3};
  sys::SystemClock clock_;
};

TEST_F(StorageSurvey, MeasuresAllOfARealFileSystem) {
  std::vector<std::string> steps;
  plan_.on_step = [&](const std::string& what) { steps.push_back(what); };
  const auto outcome = measure(plan_, clock_);
  ASSERT_TRUE(outcome) << describe(outcome.error());
  EXPECT_THAT(outcome->problems, testing::IsEmpty());
  EXPECT_GT(outcome->file_bytes, 0U);
  EXPECT_LE(outcome->file_bytes, plan_.bytes);
  EXPECT_GT(outcome->write_mb_per_s, 0);
  ASSERT_TRUE(outcome->sync_ms);
  EXPECT_GT(outcome->sync_ms->count, 0U);
  EXPECT_GT(outcome->read_mb_per_s, 0);
  ASSERT_EQ(outcome->random_reads.size(), 2U);
  EXPECT_EQ(outcome->random_reads[1].threads, 3U);
  EXPECT_GT(outcome->random_reads[1].per_s, 0);
  EXPECT_FALSE(outcome->interrupted);
  EXPECT_EQ(steps.size(), 5U);
  EXPECT_TRUE(std::filesystem::is_empty(plan_.folder));
}

TEST_F(StorageSurvey, KeepsWhatItHadWhenTheUserStopsIt) {
  std::atomic<bool> stops = false;
  plan_.on_step = [&](const std::string& what) { stops = what == "reading"; };
  plan_.stopped = [&] { return stops.load(); };
  const auto outcome = measure(plan_, clock_);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->interrupted);
  EXPECT_TRUE(outcome->sync_ms);
  EXPECT_TRUE(outcome->random_reads.empty());
}

TEST_F(StorageSurvey, FailsWhereItMayNotWrite) {
  Plan plan = plan_;
  plan.folder = "/proc";
  EXPECT_FALSE(measure(plan, clock_));
  plan.folder = plan_.folder / "none";
  EXPECT_EQ(measure(plan, clock_).error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace chokepoint::probe::storage
