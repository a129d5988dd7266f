#include "base/cli/output.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/record/opening.h"

namespace chokepoint::cli {
namespace {

namespace fs = std::filesystem;

class OutputOf : public testing::Test {
 protected:
  fs::path path(const char* name) const { return folder_.path() / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  static std::string contents(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  record::PrivateFolder folder_ = std::move(*record::PrivateFolder::make());
};

TEST_F(OutputOf, AFileIsThereWhenItIsWhole) {
  {
    auto out = open_file(path("a"));
    ASSERT_TRUE(out);
    (*out)->write("text");
    EXPECT_FALSE(fs::exists(path("a")));
    ASSERT_TRUE((*out)->finish());
    EXPECT_EQ((*out)->bytes(), 4U);
  }
  EXPECT_EQ(contents(path("a")), "text");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputOf, WhatIsNotFinishedLeavesTheOldFile) {
  std::ofstream(path("a")) << "old";
  {
    auto out = open_file(path("a"));
    (*out)->write("new");
  }
  EXPECT_EQ(contents(path("a")), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputOf, ALinkStaysOne) {
  std::ofstream(path("a")) << "old";
  fs::create_symlink("a", path("link"));
  auto out = open_file(path("link"));
  (*out)->write("new");
  ASSERT_TRUE((*out)->finish());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("a")), "new");
}

TEST_F(OutputOf, AnOwnNameReplacesFilesAlone) {
  std::ofstream(path("a")) << "old";
  fs::create_symlink("a", path("link"));
  fs::create_symlink("none", path("dangling"));
  mkfifo(path("fifo").c_str(), 0600);
  for (const char* name : {"link", "dangling", "fifo"}) {
    const auto out = open_own_file(path(name));
    ASSERT_FALSE(out) << name;
    EXPECT_EQ(out.error().subject, path(name).string());
  }
  EXPECT_EQ(files(), 4U);
  auto out = open_own_file(path("a"));
  (*out)->write("new");
  ASSERT_TRUE((*out)->finish());
  EXPECT_EQ(contents(path("a")), "new");
}

TEST_F(OutputOf, ALinkOfAnotherUserIsNotFollowed) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  std::ofstream(path("a")) << "old";
  fs::create_symlink("a", path("link"));
  ASSERT_EQ(lchown(path("link").c_str(), 1234, 1234), 0);
  const auto out = open_file(path("link"));
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::Permission);
}

// What lies where the file is written before it has its name.
TEST_F(OutputOf, AFifoUnderTheOtherNameHoldsNobody) {
  mkfifo(path((".a." + std::to_string(getpid()) + ".part").c_str()).c_str(), 0600);
  auto out = open_file(path("a"));
  ASSERT_TRUE(out);
  (*out)->write("new");
  ASSERT_TRUE((*out)->finish());
  EXPECT_EQ(contents(path("a")), "new");
}

TEST_F(OutputOf, AFullDiskIsTold) {
  auto out = open_file("/dev/full");
  ASSERT_TRUE(out);
  (*out)->write(std::string(1 << 20, 'x'));
  EXPECT_TRUE((*out)->failed());
  const Result<> done = (*out)->finish();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::Exhausted);
  EXPECT_EQ(done.error().subject, "/dev/full");
}

TEST_F(OutputOf, PlacesThatCannotBeAreTold) {
  const auto missing = open_file(path("none/a"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  EXPECT_NE(missing.error().next_step, "");
  EXPECT_FALSE(open_file(folder_.path()));
}

}  // namespace
}  // namespace chokepoint::cli
