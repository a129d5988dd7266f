#include "capture/stall/kernel_stacks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "base/sys/process.h"
#include "tests/fakes/host_tree.h"
#include "tests/fakes/temporary_file.h"

namespace chokepoint::capture::stall {
namespace {

class KernelStacks : public testing::Test {
 protected:
  void has(std::int64_t thread, const char* state, const char* waits_in) const {
    const std::string folder = fmt::format("/proc/17/task/{}/", thread);
    tree_.write(folder + "stat", fmt::format("{} (a (b) c) {} 1 1", thread, state));
    tree_.write(folder + "comm", "pt_\x1b[31mworker\n");
    tree_.write(folder + "wchan", waits_in);
    tree_.write(folder + "syscall", fmt::format("{} 0x3 0x0\n", SYS_flock));
    tree_.write(folder + "stack", "[<0>] flock_wait+0x1/0x2\n[<0>] do_syscall_64+0x5/0x9\n");
  }

  fakes::HostTree tree_ = fakes::HostTree::from_text("");
};

TEST_F(KernelStacks, TheFirstThreadStandsFirstAndIdleOnesAreCounted) {
  has(17, "S", "futex_do_wait");
  has(5, "D", "rpc_wait_bit_killable");
  has(18, "S", "futex_do_wait");
  has(19, "S", "ep_poll");
  const record::Stacks stacks = kernel_stacks(tree_.root(), 17);
  EXPECT_EQ(stacks.pid, 17);
  EXPECT_EQ(stacks.idle_threads, 2);
  ASSERT_EQ(stacks.threads.size(), 2U);
  EXPECT_EQ(stacks.threads[0].id, 17);
  EXPECT_EQ(stacks.threads[0].name, "pt_?[31mworker");
  EXPECT_EQ(stacks.threads[0].system_call, "flock");
  EXPECT_EQ(stacks.threads[0].kernel, (std::vector<std::string>{"flock_wait", "do_syscall_64"}));
  EXPECT_EQ(stacks.threads[1].id, 5);
  EXPECT_EQ(stacks.threads[1].state, "D");
}

// Without rights to its other files.
TEST_F(KernelStacks, WhatCannotBeReadIsEmpty) {
  tree_.write("/proc/17/task/17/stat", "17 (x) S 1");
  const record::Stacks stacks = kernel_stacks(tree_.root(), 17);
  EXPECT_EQ(stacks.threads.at(0).state, "S");
  EXPECT_EQ(record::place_of(stacks), "");
  EXPECT_EQ(record::place_of(kernel_stacks(tree_.root(), 99)), "");
}

// A process of its own that does the work, until it sleeps.
record::StackThread thread_that(const std::function<void()>& waits) {
  auto process = sys::Process::fork([&] {
    waits();
    return 0;
  });
  EXPECT_TRUE(process);
  const sys::Root root;
  record::StackThread first;
  for (int turn = 0; turn < 500 && first.state != "S"; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    first = kernel_stacks(root, process->pid()).threads.front();
  }
  EXPECT_TRUE(process->signal(SIGKILL));
  EXPECT_TRUE(process->wait());
  return first;
}

TEST(KernelStacksOfALiveProcess, NameTheCallThatItWaitsIn) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "the kernel shows a call to root, or to who may trace the process";
  }
  const fakes::TemporaryFile file("");
  const int locked = open(file.path().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(locked, LOCK_EX), 0);
  const auto takes_lock = [&] { flock(open(file.path().c_str(), O_RDWR | O_CLOEXEC), LOCK_EX); };
  EXPECT_EQ(thread_that(takes_lock).system_call, "flock");
  close(locked);

  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
  char byte = 0;
  EXPECT_EQ(thread_that([&] { recv(pair[0], &byte, 1, 0); }).system_call, "recvfrom");
  close(pair[0]);
  close(pair[1]);

  const record::StackThread sleeps =
      thread_that([] { std::this_thread::sleep_for(std::chrono::hours(1)); });
  EXPECT_EQ(sleeps.system_call, "clock_nanosleep");
  EXPECT_EQ(sleeps.id > 0, true);
}

}  // namespace
}  // namespace chokepoint::capture::stall
