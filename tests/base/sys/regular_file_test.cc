#include "base/sys/regular_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fstream>

namespace chokepoint::sys {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

class RegularFile : public testing::Test {
 protected:
  RegularFile() { fs::create_directory(folder_); }
  ~RegularFile() override { fs::remove_all(folder_); }

  fs::path at(const char* name) const { return folder_ / name; }

  void make_socket(const fs::path& path) {
    socket_.reset(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("regular-file-test-" + std::to_string(getpid()));
  Descriptor socket_;
};

TEST_F(RegularFile, WhatIsNoRegularFileIsNamedAtOnce) {
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  make_socket(at("socket"));
  fs::create_directory(at("folder"));
  std::ofstream(at("file")) << "text";
  fs::create_symlink("file", at("link"));
  fs::create_symlink("none", at("dangling"));
  fs::create_symlink("loop", at("loop"));
  fs::create_symlink("/dev/zero", at("device"));
  const std::vector<std::pair<const char*, const char*>> kinds{
      {"fifo", "is a FIFO"},  {"socket", "is a socket"}, {"folder", "is a folder"},
      {"link", "is a link"},  {"dangling", "is a link"}, {"loop", "is a link"},
      {"device", "is a link"}};
  for (const auto& [name, words] : kinds) {
    for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR | O_CREAT, O_WRONLY | O_CREAT | O_TRUNC}) {
      const auto opened = open_regular("record", at(name), flags, 0600);
      ASSERT_FALSE(opened) << name;
      EXPECT_THAT(describe(opened.error()), HasSubstr(words));
      EXPECT_EQ(opened.error().subject, at(name).string());
      EXPECT_FALSE(check_regular("record", at(name)));
    }
    EXPECT_EQ(open_regular_or_folder(at(name).c_str(), O_RDWR | O_CREAT, 0600), -1) << name;
  }
  EXPECT_FALSE(fs::exists(at("none"))) << "made through a link";
  EXPECT_THAT(describe(open_regular("record", "/dev/null", O_RDONLY).error()),
              HasSubstr("is a device"));
  EXPECT_EQ(fs::file_size(at("file")), 4U);
}

TEST_F(RegularFile, WhatIsNotThereIsMadeOrMissing) {
  EXPECT_EQ(open_regular("record", at("a"), O_RDONLY).error().kind, ErrorKind::NotFound);
  EXPECT_FALSE(*check_regular("record", at("a")));
  EXPECT_TRUE(open_regular("record", at("a"), O_WRONLY | O_CREAT | O_EXCL, 0600));
  EXPECT_TRUE(*check_regular("record", at("a")));
}

TEST_F(RegularFile, ANamedFileMayBeALinkToOne) {
  std::ofstream(at("file")) << "text";
  fs::create_symlink("file", at("link"));
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  const auto opened = open_named("read", at("link"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(read_up_to(*opened, 100, "read", at("link")).value(), "text");
  EXPECT_FALSE(open_named("read", at("fifo")));
  EXPECT_FALSE(open_named("read", folder_));
}

TEST_F(RegularFile, NoMoreIsReadThanWasAskedFor) {
  std::ofstream(at("file")) << std::string(100'000, 'x');
  const auto opened = open_named("read", at("file"));
  EXPECT_EQ(read_up_to(*opened, 50'000, "read", at("file")).value().size(), 50'001U);
}

// Three gigabytes long, and a page at either end is stored.
void make_sparse(const fs::path& path) {
  std::ofstream file(path, std::ios::binary);
  file << std::string(4096, 'a');
  file.seekp((3LL << 30) - 4096);
  file << std::string(4096, 'b');
}

TEST_F(RegularFile, HolesAreNotStored) {
  make_sparse(at("sparse"));
  EXPECT_LT(stored_bytes(at("sparse")), 1 << 20);
  EXPECT_GE(stored_bytes(at("sparse")), 8192);
  EXPECT_LT(bytes_in_blocks(at("sparse")), 4 << 20);
  std::ofstream(at("whole")) << std::string(100'000, 'x');
  EXPECT_EQ(stored_bytes(at("whole")), 100'000);
  EXPECT_EQ(bytes_in_blocks(at("whole")), 100'000);
  EXPECT_EQ(stored_bytes(at("none")), 0);
}

TEST_F(RegularFile, ACopyHasTheHolesAndTheBytes) {
  make_sparse(at("sparse"));
  const auto from = open_regular("copy", at("sparse"), O_RDONLY);
  const auto to = open_regular("copy", at("copy"), O_RDWR | O_CREAT, 0600);
  ASSERT_TRUE(from && to);
  ASSERT_TRUE(copy_stored(*from, *to, "copy", at("sparse")));
  EXPECT_EQ(fs::file_size(at("copy")), 3ULL << 30);
  EXPECT_LT(stored_bytes(at("copy")), 1 << 20);
  std::string ends(2, '\0');
  EXPECT_EQ(pread(to->get(), ends.data(), 1, 0), 1);
  EXPECT_EQ(pread(to->get(), &ends[1], 1, (3LL << 30) - 1), 1);
  EXPECT_EQ(ends, "ab");
}

TEST_F(RegularFile, RoomIsLookedAtFirst) {
  EXPECT_TRUE(want_room(folder_, 1, "copy", "next"));
  const auto none = want_room(folder_, 1LL << 60, "copy", "next");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::Exhausted);
  EXPECT_EQ(none.error().next_step, "next");
}

}  // namespace
}  // namespace chokepoint::sys
