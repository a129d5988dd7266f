#include "probe/serve/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "base/sys/descriptor.h"

namespace chokepoint::probe::serve {
namespace {

using testing::HasSubstr;

struct Pipe {
  Pipe() {
    std::array<int, 2> fds{};
    EXPECT_EQ(pipe(fds.data()), 0);
    read.reset(fds[0]);
    write.reset(fds[1]);
  }
  void say(std::string_view text) const {
    EXPECT_EQ(::write(write.get(), text.data(), text.size()), std::ssize(text));
  }
  sys::Descriptor read;
  sys::Descriptor write;
};

class LeashTest : public testing::Test {
 protected:
  static bool is_readable(int fd, int milliseconds) {
    pollfd watched{fd, POLLIN, 0};
    return poll(&watched, 1, milliseconds) > 0;
  }
  void interrupt() const {
    const std::uint64_t one = 1;
    EXPECT_EQ(write(interrupt_.get(), &one, sizeof(one)), sizeof(one));
  }
  static constexpr int kSoon = 10'000;

  Pipe input_;
  sys::Descriptor interrupt_{eventfd(0, EFD_CLOEXEC)};
};

TEST_F(LeashTest, ItsFirstLineIsTheKeyAndTheRestStays) {
  input_.say("0123456789abcdef\nrest");
  EXPECT_EQ(read_key(input_.read.get(), interrupt_.get()).value(), "0123456789abcdef");
  std::array<char, 8> rest{};
  EXPECT_EQ(read(input_.read.get(), rest.data(), rest.size()), 4);
}

TEST_F(LeashTest, AKeyAtTheEndOfAllIsAKey) {
  input_.say("0123456789abcdef");
  input_.write.reset();
  EXPECT_EQ(read_key(input_.read.get(), interrupt_.get()).value(), "0123456789abcdef");
}

TEST_F(LeashTest, WhatIsNoKeyIsRefused) {
  const auto refused = [](const std::string& text) {
    Pipe input;
    input.say(text);
    input.write.reset();
    const Result<std::string> key = read_key(input.read.get(), -1);
    EXPECT_FALSE(key) << text.size();
    return key ? "" : describe(key.error());
  };
  EXPECT_THAT(refused(""), HasSubstr("standard input: a key has 16 to 4096 bytes"));
  EXPECT_THAT(refused("short\n0123456789abcdef\n"), HasSubstr("16 to 4096"));
  EXPECT_THAT(refused(std::string(5000, 'k') + "\n"), HasSubstr("16 to 4096"));
}

TEST_F(LeashTest, TheUserMayLosePatience) {
  interrupt();
  const Result<std::string> key = read_key(input_.read.get(), interrupt_.get());
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().kind, ErrorKind::Interrupted);
}

TEST_F(LeashTest, EndsWithItsInputAndNotBefore) {
  const std::unique_ptr<StdinLifetime> held =
      std::move(StdinLifetime::hold(input_.read.get(), interrupt_.get()).value());
  input_.say("more of it");
  EXPECT_FALSE(is_readable(held->over(), 100));
  input_.write.reset();
  EXPECT_TRUE(is_readable(held->over(), kSoon));
}

TEST_F(LeashTest, EndsWithASignalToo) {
  const std::unique_ptr<StdinLifetime> held =
      std::move(StdinLifetime::hold(input_.read.get(), interrupt_.get()).value());
  interrupt();
  EXPECT_TRUE(is_readable(held->over(), kSoon));
}

TEST_F(LeashTest, InputThatCannotBeReadHoldsNothing) {
  constexpr int kNotOpen = 1000;
  const std::unique_ptr<StdinLifetime> held =
      std::move(StdinLifetime::hold(kNotOpen, interrupt_.get()).value());
  EXPECT_TRUE(is_readable(held->over(), kSoon));
}

using testing::HasSubstr;

TEST(Privileges, NoNameChangesNothing) { EXPECT_TRUE(become("")); }

TEST(Privileges, AUserThatIsNotThereIsNamed) {
  const Result<> became = become("no-such-user");
  ASSERT_FALSE(became);
  EXPECT_THAT(describe(became.error()), HasSubstr("--user no-such-user"));
}

TEST(Privileges, AreGoneForGood) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const pid_t child = fork();
  if (child == 0) {
    const bool dropped = become("nobody") && getuid() != 0 && geteuid() != 0;
    _exit(dropped && setuid(0) < 0 && getgroups(0, nullptr) <= 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Ready, TellsWhoeverStartedIt) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("chokepoint-notify-" + std::to_string(getpid()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const sys::Descriptor manager(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ASSERT_EQ(bind(manager.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  notify_ready(path);
  std::array<char, 64> said{};
  const ssize_t got = recv(manager.get(), said.data(), said.size(), 0);
  unlink(path.c_str());
  ASSERT_GT(got, 0);
  EXPECT_STREQ(said.data(), "READY=1");
}

TEST(Ready, NobodyToTellIsNoTrouble) {
  notify_ready(std::nullopt);
  notify_ready("/no/such/socket");
  notify_ready(std::string(500, 'x'));
}

}  // namespace

}  // namespace chokepoint::probe::serve
