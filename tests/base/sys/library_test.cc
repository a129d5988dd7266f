#include "base/sys/library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string_view>

namespace chokepoint::sys {
namespace {

constexpr const char* kLibrary = CHOKEPOINT_FAKE_NVML;

bool is_in_memory() {
  void* handle = dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) {
    dlclose(handle);
  }
  return handle != nullptr;
}

TEST(Library, IsThereUntilItIsClosed) {
  {
    const Result<Library> library = Library::open(kLibrary);
    ASSERT_TRUE(library) << describe(library.error());
    EXPECT_NE(library->function<int()>("nvmlInit_v2"), nullptr);
    EXPECT_EQ(library->function<int()>("nvmlNobodyKnows"), nullptr);
    EXPECT_TRUE(is_in_memory());
  }
  EXPECT_FALSE(is_in_memory());
}

// Or a thread of its own would run where no code is any more.
TEST(Library, OpenedForGoodStays) {
  ASSERT_TRUE(Library::open_for_good(kLibrary));
  EXPECT_TRUE(is_in_memory());
}

TEST(Library, ThatIsMissingIsNotFound) {
  const Result<Library> library = Library::open("libnobody-has-this.so.1");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().kind, ErrorKind::NotFound);
}

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
  EXPECT_EQ(library_beside(top_ / "bin/chokepoint", "installed.so"),
            top_ / "lib/chokepoint/installed.so");
}

TEST_F(OwnFilesTest, StandBelowTheBuiltProgram) {
  EXPECT_EQ(library_beside(top_ / "build/chokepoint", "built.so"),
            top_ / "build/lib/chokepoint/built.so");
}

TEST_F(OwnFilesTest, MayBeMissing) {
  EXPECT_EQ(library_beside(top_ / "bin/chokepoint", "other.so"), std::nullopt);
  EXPECT_EQ(library_beside(top_ / "bin/chokepoint", ""), std::nullopt);
}

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_F(OwnFilesTest, MayBeCarriedByTheProgram) {
  constexpr std::string_view kScript = "#!/bin/sh\nexit 7\n";
  const std::array carried{CarriedFile{"carried", std::as_bytes(std::span(kScript))}};
  carry_files(carried);
  const auto path = own_library("carried");
  ASSERT_TRUE(path);
  EXPECT_EQ(text_of(*path), kScript);
  EXPECT_EQ(own_library("carried"), path);  // once, however often it is asked for
  // A child opens it, too.
  EXPECT_EQ(WEXITSTATUS(std::system(path->c_str())), 7);
  EXPECT_EQ(own_library("another"), std::nullopt);
  carry_files({});
}

}  // namespace
}  // namespace chokepoint::sys
