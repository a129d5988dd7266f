#include "base/sys/own_files.h"

#include <gtest/gtest.h>

#include <fstream>

namespace chokepoint::sys {
namespace {

namespace fs = std::filesystem;

class OwnFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(top_ / "bin");
    fs::create_directories(top_ / "lib/chokepoint");
    fs::create_directories(top_ / "build/lib/chokepoint");
    std::ofstream(top_ / "lib/chokepoint/installed.so") << "x";
    std::ofstream(top_ / "build/lib/chokepoint/built.so") << "x";
  }
  void TearDown() override { fs::remove_all(top_); }

  const fs::path top_ = fs::path(testing::TempDir()) / "own_files_test";
};

TEST_F(OwnFilesTest, StandBesideTheInstalledProgram) {
  EXPECT_EQ(own_library(top_ / "bin/chokepoint", "installed.so"),
            top_ / "lib/chokepoint/installed.so");
}

TEST_F(OwnFilesTest, StandBelowTheBuiltProgram) {
  EXPECT_EQ(own_library(top_ / "build/chokepoint", "built.so"),
            top_ / "build/lib/chokepoint/built.so");
}

TEST_F(OwnFilesTest, MayBeMissing) {
  EXPECT_EQ(own_library(top_ / "bin/chokepoint", "other.so"), std::nullopt);
  EXPECT_EQ(own_library(top_ / "bin/chokepoint", ""), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::sys
