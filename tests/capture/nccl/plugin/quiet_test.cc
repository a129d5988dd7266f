// Once a thread has its lane, the plugin asks nothing of the kernel: a process that may do nothing
// but compute, by its own wish, lives on.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <functional>

#include "tests/capture/nccl/plugin/loaded.h"

namespace chokepoint::capture::nccl::test {
namespace {

// From now on any system call but the last one is the end. Not the strict mode, which takes the
// processor's clock away, too.
bool forbid_system_calls() {
  std::array<sock_filter, 4> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  }};
  const sock_fprog program = {.len = filter.size(), .filter = filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Whether a child that does this without a system call comes to its end; nothing where there is no
// such restriction.
std::optional<bool> ends_without_system_calls(const std::function<void()>& before,
                                              const std::function<void()>& work) {
  constexpr int kUnable = 7;
  const pid_t child = fork();
  if (child == 0) {
    before();
    if (!forbid_system_calls()) {
      _exit(kUnable);
    }
    work();
    syscall(SYS_exit_group, 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kUnable) {
    return std::nullopt;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The thread sanitizer makes calls of its own.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHOKEPOINT_IS_WATCHED
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(CHOKEPOINT_IS_WATCHED)
constexpr bool kIsWatched = true;
#else
constexpr bool kIsWatched = false;
#endif

bool has_clocks_without_system_calls() {
  return ends_without_system_calls([] {},
                                   [] {
                                     timespec now = {};
                                     clock_gettime(CLOCK_MONOTONIC, &now);
                                     clock_gettime(CLOCK_REALTIME, &now);
                                   })
      .value_or(false);
}

TEST(NcclPluginQuiet, AsksNothingOfTheKernelAfterItsFirstEvent) {
  if (kIsWatched || !has_clocks_without_system_calls()) {
    GTEST_SKIP() << "under the thread sanitizer, or this machine's clock takes a system call, or "
                    "seccomp is not to be had";
  }
  Loaded loaded({.window = "1/2"});
  void* context = nullptr;
  const std::optional<bool> ended = ends_without_system_calls(
      [&] {
        context = loaded.join();
        loaded.stop(loaded.start(context, proxy(nullptr, 0, true)));
      },
      [&] {
        for (std::uint64_t each = 0; each < 20'000; ++each) {
          void* whole = loaded.start(context, collective(each));
          void* part = loaded.start(context, proxy(whole, 1, true));
          void* one = loaded.start(context, step(part));
          loaded.state(one, State::SendGpuWait);
          loaded.stop(one);
          loaded.stop(one);
          loaded.stop(part);
          loaded.stop(loaded.start(context, kernel(whole, 1)));
          loaded.stop(whole);
        }
      });
  EXPECT_EQ(ended, true);
}

// What the test above stands on.
TEST(NcclPluginQuiet, ASystemCallWouldBeNoticed) {
  const std::optional<bool> ended = ends_without_system_calls([] {}, [] { syscall(SYS_getppid); });
  if (!ended) {
    GTEST_SKIP() << "seccomp is not to be had";
  }
  EXPECT_EQ(ended, false);
}

}  // namespace
}  // namespace chokepoint::capture::nccl::test
