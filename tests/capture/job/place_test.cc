#include "capture/job/place.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/record/runs.h"
#include "tests/base/record/record_folder.h"

namespace chokepoint::capture::job {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::int64_t kOneSecond = 1'000'000'000;
constexpr std::int64_t kOneMinute = 60 * kOneSecond;
constexpr std::int64_t kWallNs = 1'795'689'801 * kOneSecond;  // 2026-11-26T10:43:21Z

// In a working folder of its own.
class Place : public record::RecordFolder {
 protected:
  Place() { fs::current_path(folder_.path()); }
  ~Place() override { fs::current_path(before_); }

  static std::string chosen(const PlaceOptions& options, const std::string& node = "a",
                            std::int64_t wall_ns = kWallNs) {
    const auto folder = choose_folder(options, node, wall_ns);
    return folder ? folder->string() : describe(folder.error());
  }

  std::unique_ptr<record::Writer> writing(const std::string& folder, const std::string& node) {
    return open_writer({.folder = folder, .node = node, .role = "run", .command = {"train"}});
  }
  void write(const std::string& folder, const std::string& node) { writing(folder, node)->close(); }

  const PlaceOptions by_slurm_{.job = {.text = "812"}};
  const PlaceOptions by_address_{.job = {.text = "gpu1-29500", .is_unique = false}};
  fs::path before_ = fs::current_path();
};

TEST_F(Place, IsWhatTheUserNamed) {
  EXPECT_EQ(chosen({.folder = "runs/a"}), "runs/a");
  EXPECT_EQ(chosen({.folder = "runs/a", .repetition = 3}), "runs/a/3");
}

TEST_F(Place, AnEarlierRunIsNotAddedToUnasked) {
  write("runs/a", "a");
  EXPECT_EQ(chosen({.folder = "runs/a"}),
            "--out: runs/a: holds an earlier run; --out runs/a-2, or --append to add to it");
  EXPECT_EQ(choose_folder({.folder = "runs/a"}, "a", kWallNs).error().kind, ErrorKind::Usage);
  EXPECT_EQ(chosen({.folder = "runs/a", .may_append = true}), "runs/a");
  EXPECT_EQ(chosen({.folder = "runs/a"}, "b"), "runs/a") << "a may have ended at once";
}

TEST_F(Place, IsNamedByTheJob) {
  EXPECT_EQ(chosen(by_slurm_), "chokepoint-runs/812");
  write("chokepoint-runs/812", "a");
  EXPECT_EQ(chosen(by_slurm_), "chokepoint-runs/812-2");
}

TEST_F(Place, NodesThatShareAFolderMeetInTheSameSecondRun) {
  write("chokepoint-runs/812", "a");
  write("chokepoint-runs/812", "b");
  const std::string second = chosen(by_slurm_, "a");
  const auto writer = writing(second, "a");
  EXPECT_EQ(chosen(by_slurm_, "b"), second);
}

TEST_F(Place, ByAnAddressANodeJoinsWhatAnotherBeganMinutesAgo) {
  const std::string first = chosen(by_address_, "a", kWallNs);
  EXPECT_EQ(first, "chokepoint-runs/gpu1-29500-20261126T1043");
  const auto writer = writing(first, "a");
  EXPECT_EQ(chosen(by_address_, "b", kWallNs + 5 * kOneMinute), first);
  EXPECT_EQ(chosen(by_address_, "b", kWallNs + 20 * kOneMinute),
            "chokepoint-runs/gpu1-29500-20261126T1103");
  EXPECT_EQ(chosen({.job = {.text = "gpu1-295", .is_unique = false}}, "b"),
            "chokepoint-runs/gpu1-295-20261126T1043");
}

TEST_F(Place, TheNextJobAtThatAddressIsAnother) {
  write(chosen(by_address_, "a"), "a");
  EXPECT_EQ(chosen(by_address_, "a"), "chokepoint-runs/gpu1-29500-20261126T1043-2");
  EXPECT_EQ(chosen(by_address_, "a", kWallNs + 2 * kOneMinute),
            "chokepoint-runs/gpu1-29500-20261126T1045");
}

TEST_F(Place, JobsWithoutANameAreTwoEvenInOneSecond) {
  EXPECT_EQ(chosen({}), "chokepoint-runs/20261126T104321");
  const auto writer = writing(chosen({}), "a");
  EXPECT_EQ(chosen({}, "b"), "chokepoint-runs/20261126T104321-2");
}

}  // namespace
}  // namespace chokepoint::capture::job
