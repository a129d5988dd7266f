#include "probe/local/storage_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace chokepoint::probe::storage {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

class StorageFile : public testing::Test {
 protected:
  StorageFile() { std::filesystem::create_directories(folder_); }
  ~StorageFile() override { std::filesystem::remove_all(folder_); }
  StorageFile(const StorageFile&) = delete;
  StorageFile& operator=(const StorageFile&) = delete;

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("storage-" + std::to_string(getpid()));
};

TEST_F(StorageFile, IsAsLargeAsLeavesRoomForOthers) {
  const auto bytes = [&](std::uint64_t total, std::uint64_t free, std::uint64_t wanted) {
    return file_bytes({.total_bytes = total, .free_bytes = free}, wanted, folder_).value_or(0);
  };
  EXPECT_EQ(bytes(100 * kGiB, 50 * kGiB, kGiB), kGiB);
  EXPECT_EQ(bytes(100 * kGiB, 5 * kGiB + 100 * kMiB, kGiB), 100 * kMiB);
  EXPECT_EQ(bytes(kGiB, 300 * kMiB, kGiB), 44 * kMiB) << "256 MiB stay";
  EXPECT_EQ(bytes(100 * kGiB, 5 * kGiB, kGiB), 0U);
  EXPECT_EQ(bytes(100 * kGiB, 0, kGiB), 0U);
}

TEST_F(StorageFile, OfAFullDiskSaysWhatIsFree) {
  const auto refused = file_bytes({.total_bytes = kGiB, .free_bytes = kMiB}, kGiB, folder_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Exhausted);
  EXPECT_NE(describe(refused.error()).find("1 MiB are free"), std::string::npos)
      << describe(refused.error());
}

TEST_F(StorageFile, LeavesNothingInItsFolder) {
  const auto file = make_file(folder_);
  ASSERT_TRUE(file) << describe(file.error());
  ASSERT_EQ(write(file->get(), "data", 4), 4);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(StorageFile, FailsInOneLineWhereThereIsNoFolder) {
  const auto file = make_file(folder_ / "none");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::NotFound);
  EXPECT_FALSE(room_of(folder_ / "none"));
}

TEST_F(StorageFile, IsNotColdWhileItsPagesAreCached) {
  const auto file = make_file(folder_);
  ASSERT_TRUE(file);
  const std::string megabyte(kMiB, 'x');
  ASSERT_EQ(write(file->get(), megabyte.data(), kMiB), static_cast<ssize_t>(kMiB));
  EXPECT_FALSE(is_cold(*file, kMiB));
  EXPECT_FALSE(is_cold(*file, 10)) << "less than a page tells nothing";
}

}  // namespace
}  // namespace chokepoint::probe::storage
