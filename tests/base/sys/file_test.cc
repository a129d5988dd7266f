#include "base/sys/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace chokepoint::sys {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

constexpr std::size_t kMost = 100;

class FileOf : public testing::Test {
 protected:
  FileOf() {
    std::string name = testing::TempDir() + "chokepoint-file-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~FileOf() override { fs::remove_all(folder_); }

  fs::path at(const char* name) const { return folder_ / name; }
  fs::path file(const char* name, const std::string& content = "content") const {
    std::ofstream(at(name)) << content;
    return at(name);
  }
  fs::path pipe(const char* name) const {
    EXPECT_EQ(mkfifo(at(name).c_str(), 0600), 0);
    return at(name);
  }
  fs::path link(const char* name, const fs::path& target) const {
    fs::create_symlink(target, at(name));
    return at(name);
  }

 private:
  fs::path folder_;
};

std::string content_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Result<> put(const Result<Descriptor>& into, std::string_view text) {
  if (!into) {
    return fail(into.error());
  }
  EXPECT_EQ(write(into->get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return {};
}

TEST_F(FileOf, WhatIsNoInputIsRefusedAndNamed) {
  for (const fs::path& path : {fs::path("/"), fs::path("/dev/zero"), at("none")}) {
    const auto read = read_input(path, kMost, "read");
    ASSERT_FALSE(read) << path;
    EXPECT_THAT(describe(read.error()), HasSubstr(path.string()));
  }
}

TEST_F(FileOf, NothingIsReadBeyondTheBound) {
  file("a", std::string(kMost, 'x'));
  EXPECT_TRUE(read_input(at("a"), kMost, "read"));
  EXPECT_EQ(read_input(at("a"), kMost - 1, "read").error().kind, ErrorKind::Malformed);
  ASSERT_EQ(truncate(file("sparse").c_str(), off_t{1} << 40), 0);
  EXPECT_THAT(read_input(at("sparse"), 1 << 20, "read").error().reason,
              HasSubstr("larger than 1 MiB"));
}

TEST_F(FileOf, APipeIsReadUntilItsWriterEnds) {
  pipe("pipe");
  const std::jthread writer([&] {
    const Descriptor into(open(at("pipe").c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(write(into.get(), "ab", 2), 2);
    EXPECT_EQ(write(into.get(), "cd", 2), 2);
  });
  EXPECT_EQ(read_input(at("pipe"), kMost, "read"), "abcd");
}

TEST_F(FileOf, NobodyWaitsForAPipesOtherEnd) {
  pipe("pipe");
  EXPECT_EQ(read_input(at("pipe"), kMost, "read").error().kind, ErrorKind::Timeout);
  EXPECT_EQ(open_output(at("pipe"), 0600, "write").error().kind, ErrorKind::Timeout);
}

TEST_F(FileOf, WhatTheUserNamedIsWrittenAsItIs) {
  file("a");
  link("to_a", "a");
  EXPECT_TRUE(put(open_output(at("to_a"), 0600, "write"), "new"));
  EXPECT_EQ(content_of(at("a")), "new");
  EXPECT_TRUE(put(open_output(at("b"), 0600, "write"), "made"));
  EXPECT_EQ(content_of(at("b")), "made");
  EXPECT_TRUE(put(open_output("/dev/null", 0600, "write"), "gone"));
  pipe("pipe");
  const Descriptor reader(open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_TRUE(put(open_output(at("pipe"), 0600, "write"), "piped"));
}

TEST_F(FileOf, NoFileIsMadeBehindALink) {
  link("dangling", at("missing"));
  EXPECT_FALSE(open_output(at("dangling"), 0600, "write"));
  EXPECT_FALSE(fs::exists(at("missing")));
}

}  // namespace
}  // namespace chokepoint::sys
