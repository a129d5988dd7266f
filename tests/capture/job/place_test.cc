#include "capture/job/place.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/record/runs.h"
#include "base/sys/descriptor.h"
#include "tests/base/record/record_folder.h"

namespace chokepoint::capture::job {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

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
    const auto place = choose_folder(options, node, wall_ns);
    return place ? place->folder.string() : describe(place.error());
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
  EXPECT_EQ(chosen({}, "b"), "chokepoint-runs/20261126T104321-2");
  const auto writer = writing("chokepoint-runs/20261126T104321-2", "b");
  EXPECT_EQ(chosen({}), "chokepoint-runs/20261126T104321-3");
}

TEST_F(Place, JobsWithoutANameThatStartAtOnceGetAFolderEach) {
  constexpr std::size_t kJobs = 12;
  sys::Pipe start = sys::open_pipe("test", "jobs").value();
  sys::Pipe names = sys::open_pipe("test", "jobs").value();
  std::vector<pid_t> jobs;
  for (std::size_t job = 0; job < kJobs; ++job) {
    jobs.push_back(fork());
    if (jobs.back() == 0) {
      start.write.reset();
      char none = 0;
      const ssize_t ended = ::read(start.read.get(), &none, 1);  // all begin when it is closed
      const std::string line = chosen({}) + "\n";
      const ssize_t written = ::write(names.write.get(), line.data(), line.size());
      _exit(ended == 0 && written == std::ssize(line) ? 0 : 1);
    }
  }
  start.write.reset();
  names.write.reset();
  for (const pid_t job : jobs) {
    int status = 0;
    ASSERT_EQ(waitpid(job, &status, 0), job);
    EXPECT_EQ(status, 0);
  }
  std::set<std::string> folders;
  std::string all(4096, '\0');
  all.resize(static_cast<std::size_t>(::read(names.read.get(), all.data(), all.size())));
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, StartsWith("chokepoint-runs/20261126T104321"));
    folders.insert(line);
  }
  EXPECT_EQ(folders.size(), kJobs);
}

TEST_F(Place, AFolderMadeForAJobIsNew) {
  EXPECT_TRUE(choose_folder({}, "a", kWallNs)->is_new);
  EXPECT_TRUE(choose_folder({.folder = "runs/a"}, "a", kWallNs)->is_new);
  fs::create_directories("runs/a");
  EXPECT_FALSE(choose_folder({.folder = "runs/a"}, "a", kWallNs)->is_new);
}

TEST_F(Place, WhereNoFolderCanBeMadeTheErrorSaysSo) {
  std::ofstream(record::kRunsFolder) << "a file";
  EXPECT_THAT(chosen({}), HasSubstr("is a file, not a folder"));
}

}  // namespace
}  // namespace chokepoint::capture::job
