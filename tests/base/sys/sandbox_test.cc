#include "base/sys/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <stop_token>
#include <thread>

#include "base/sys/message_socket.h"
#include "base/sys/sanitizers.h"

namespace chokepoint::sys {
namespace {

// In a process of its own, as rights do not come back: what the check returns.
int in_own_process(const std::function<int()>& check) {
  const pid_t pid = fork();
  if (pid == 0) {
    _exit(check());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int in_sandbox(const std::function<int()>& check, const Sandbox& sandbox = {}) {
  return in_own_process([&] { return enter_sandbox(sandbox) ? check() : 99; });
}

constexpr unsigned long kCapabilitiesOutliveUsers = 1 << 2;  // SECBIT_NO_SETUID_FIXUP

class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kIsSanitized) {
      GTEST_SKIP() << "a sanitizer needs calls of its own";
    }
  }
};

TEST(Sandbox, LeavesNeitherUserNorCapabilities) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "needs root to have something to give up";
  }
  EXPECT_EQ(
      in_sandbox([] {
        const bool is_nobody = getuid() == 65'534 && geteuid() == 65'534;
        return is_nobody && !has_capability(CAP_NET_RAW) && !has_capability(CAP_SYS_ADMIN) ? 0 : 1;
      }),
      0);
  EXPECT_TRUE(has_capability(CAP_SYS_ADMIN));
}

TEST_F(SandboxTest, OpensAndStartsNothing) {
  EXPECT_EQ(in_sandbox([] { return open("/etc/hostname", O_RDONLY) < 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(in_sandbox([] { return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(in_sandbox([] {
              execl("/bin/true", "true", nullptr);
              return errno;
            }),
            EPERM);
  EXPECT_EQ(in_sandbox([] { return fork() < 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(in_sandbox([] {
              void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return memory == MAP_FAILED ? errno : 0;
            }),
            EPERM);
}

TEST_F(SandboxTest, ThreadsComputeAndReadWhatIsOpen) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  ASSERT_EQ(write(pipe[1], "x", 1), 1);
  EXPECT_EQ(in_sandbox([&] {
              char got = 0;
              std::thread([&] { static_cast<void>(read(pipe[0], &got, 1)); }).join();
              return got == 'x' ? 0 : 1;
            }),
            0);
}

TEST_F(SandboxTest, SendsToOneSocketAlone) {
  auto one = MessageSocket::open_pair("test");
  auto other = MessageSocket::open_pair("test");
  ASSERT_TRUE(one && other);
  EXPECT_EQ(in_sandbox(
                [&] {
                  const std::chrono::milliseconds wait{10};
                  const bool may = one->own.send(0, "yes", wait);
                  return may && !other->own.send(0, "no", wait) ? 0 : 1;
                },
                {.connected_to = one->own.descriptor()}),
            0);
}

TEST(Sandbox, AThreadThatKeepsItsCapabilitiesIsAnError) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "needs root to have something to give up";
  }
  EXPECT_EQ(in_own_process([] {
              // Users are changed for all threads, capabilities are not where they outlive a change
              // of users.
              prctl(PR_SET_SECUREBITS, kCapabilitiesOutliveUsers);
              std::jthread keeps([](const std::stop_token& enough) {
                while (!enough.stop_requested()) {
                  std::this_thread::yield();
                }
              });
              const auto entered = enter_sandbox({});
              return !entered && entered.error().kind == ErrorKind::Busy ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace chokepoint::sys
