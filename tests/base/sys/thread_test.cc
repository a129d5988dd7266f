#include "base/sys/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <latch>
#include <optional>
#include <vector>

#include "base/sys/pages.h"

namespace chokepoint::sys {
namespace {

// The sanitizers reserve more address space than any limit leaves.
#if defined(__has_feature)
constexpr bool kIsSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kIsSanitized = false;
#endif

// A thread's stack is memory: where there is room for none, no thread can be started.
class NoRoomForStacks {
 public:
  NoRoomForStacks() {
    getrlimit(RLIMIT_AS, &before_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    constexpr rlim_t kLessThanAStack = rlim_t{1} << 20;
    const rlimit now{.rlim_cur = pages * page_bytes() + kLessThanAStack,
                     .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_AS, &now);
  }
  NoRoomForStacks(const NoRoomForStacks&) = delete;
  NoRoomForStacks& operator=(const NoRoomForStacks&) = delete;
  ~NoRoomForStacks() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_ = {};
};

TEST(Thread, RunsUnderItsNameAndTakesNoSignals) {
  std::array<char, 16> name{};
  bool takes_any = true;
  Result<std::thread> thread = start_thread("a test", [&] {
    pthread_getname_np(pthread_self(), name.data(), name.size());
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    takes_any = sigismember(&mask, SIGTERM) == 0 || sigismember(&mask, SIGPIPE) == 0;
  });
  ASSERT_TRUE(thread);
  thread->join();
  EXPECT_STREQ(name.data(), "a test");
  EXPECT_FALSE(takes_any);
}

TEST(Thread, OneThatCannotBeStartedIsAnError) {
  if (kIsSanitized) {
    GTEST_SKIP() << "no limit on memory holds under a sanitizer";
  }
  std::latch over(1);
  std::vector<std::thread> threads;
  std::optional<Error> error;
  {
    const NoRoomForStacks none;
    // The first may take stacks that earlier threads have left.
    for (int i = 0; i < 32 && !error; ++i) {
      Result<std::thread> thread = start_thread("a test", [&] { over.wait(); });
      if (thread) {
        threads.push_back(*std::move(thread));
      } else {
        error = thread.error();
      }
    }
  }
  over.count_down();
  std::ranges::for_each(threads, &std::thread::join);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::Exhausted);
}

}  // namespace
}  // namespace chokepoint::sys
