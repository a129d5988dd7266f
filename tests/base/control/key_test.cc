#include "base/control/key.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/sys/descriptor.h"
#include "tests/fakes/temporary_file.h"

namespace chokepoint::control {
namespace {

using testing::HasSubstr;

Result<Secret> key_in(const std::string& content, mode_t mode = 0600) {
  const fakes::TemporaryFile file(content);
  chmod(file.path().c_str(), mode);
  return read_key(file.path());
}

TEST(Key, WhiteSpaceAroundItIsNoPartOfIt) {
  EXPECT_EQ(key_in("0123456789abcdef").value(), key_in("  0123456789abcdef\n").value());
  EXPECT_NE(key_in("0123456789abcdef").value(), key_in("0123456789abcdeg").value());
}

TEST(Key, WhatEverybodyCanReadIsNoSecret) {
  const auto key = key_in("0123456789abcdef", 0644);
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().next_step, HasSubstr("chmod 600"));
}

TEST(Key, AShortOneIsRefusedWithTheCommandThatMakesAGoodOne) {
  const auto key = key_in("secret");
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().next_step, HasSubstr("/dev/urandom"));
}

TEST(Key, ItsTextIsWhatAChildIsHanded) {
  const fakes::TemporaryFile file(" 0123456789 abcdef\n");
  EXPECT_EQ(read_key_text(file.path()).value(), "0123456789 abcdef");
  EXPECT_EQ(secret_of("0123456789 abcdef"), read_key(file.path()).value());
}

// Standard input, for as long as it lives.
class Input {
 public:
  explicit Input(int fd) : before_(dup(STDIN_FILENO)) { dup2(fd, STDIN_FILENO); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input() {
    dup2(before_, STDIN_FILENO);
    close(before_);
  }

 private:
  int before_;
};

TEST(Key, ComesThroughStandardInputPieceByPiece) {
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe(fds.data()), 0);
  const Input input(fds[0]);
  std::thread writer([&] {
    for (const std::string_view piece : {"01234567", "89abcdef\n"}) {
      EXPECT_EQ(write(fds[1], piece.data(), piece.size()), std::ssize(piece));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    close(fds[1]);
  });
  EXPECT_EQ(read_key(std::string(kStandardInput)).value(), secret_of("0123456789abcdef"));
  // Who connects again has it still.
  EXPECT_EQ(read_key(std::string(kStandardInput)).value(), secret_of("0123456789abcdef"));
  writer.join();
  close(fds[0]);
}

TEST(Key, OneTooLongIsRefusedBeforeItsEnd) {
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe(fds.data()), 0);
  const Input input(fds[0]);
  const std::string much(5000, 'k');
  ASSERT_EQ(write(fds[1], much.data(), much.size()), std::ssize(much));
  EXPECT_EQ(read_key(std::string(kStandardInput)).error().kind, ErrorKind::Usage);
  close(fds[0]);
  close(fds[1]);
}

TEST(Key, AFileBehindStandardInputIsLookedAtAsAnyOther) {
  const fakes::TemporaryFile file("0123456789abcdef");
  const sys::Descriptor fd(open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
  const Input input(fd.get());
  ASSERT_EQ(chmod(file.path().c_str(), 0644), 0);
  EXPECT_THAT(read_key(std::string(kStandardInput)).error().reason, HasSubstr("everybody"));
  ASSERT_EQ(chmod(file.path().c_str(), 0600), 0);
  EXPECT_TRUE(read_key(std::string(kStandardInput)));
  EXPECT_TRUE(read_key(std::string(kStandardInput)));
}

TEST(Key, AMissingFileIsNamed) {
  EXPECT_THAT(describe(read_key("/no/such/key").error()), HasSubstr("/no/such/key"));
}

TEST(Key, PartsDoNotRunIntoEachOther) {
  const Secret secret = random_secret();
  EXPECT_NE(mac_of(secret, {"ab", "c"}), mac_of(secret, {"a", "bc"}));
  EXPECT_EQ(mac_of(secret, {"ab", "c"}), mac_of(secret, {"ab", "c"}));
}

TEST(Key, HexadecimalOfTheRightLengthOnly) {
  const Secret secret = random_secret();
  EXPECT_EQ(from_hex(to_hex(secret)), secret);
  for (const std::string& text : {std::string(), std::string(63, 'a'), std::string(64, 'g')}) {
    EXPECT_EQ(from_hex(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace chokepoint::control
