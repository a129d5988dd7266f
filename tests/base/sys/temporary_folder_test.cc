#include "base/sys/temporary_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/sys/descriptor.h"
#include "base/sys/process.h"

namespace chokepoint::sys {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFolder, GoesWithWhatIsInIt) {
  fs::path path;
  {
    const auto folder = TemporaryFolder::make("chokepoint-test");
    ASSERT_TRUE(folder);
    path = folder->path();
    fs::create_directories(path / "a" / "b");
    std::ofstream(path / "a" / "file") << "text";
    EXPECT_TRUE(fs::is_directory(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, GoesWhenItsProcessIsKilled) {
  auto named = open_pipe("make", "test");
  ASSERT_TRUE(named);
  auto made = Process::fork([&] {
    const auto folder = TemporaryFolder::make("chokepoint-test");
    const std::string path = folder->path();
    std::ofstream(folder->path() / "file") << "text";
    if (write(named->write.get(), path.data(), path.size()) > 0) {
      pause();
    }
    return 1;
  });
  ASSERT_TRUE(made);
  std::string path(256, '\0');
  const auto size = read(named->read.get(), path.data(), path.size());
  ASSERT_GT(size, 0);
  path.resize(static_cast<std::size_t>(size));
  EXPECT_TRUE(fs::exists(path));
  ASSERT_TRUE(made->signal(SIGKILL));
  ASSERT_TRUE(made->wait());
  for (int tries = 0; tries < 500 && fs::exists(path); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace chokepoint::sys
