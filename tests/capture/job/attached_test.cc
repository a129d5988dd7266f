// Real processes: what is attached to, and who of them the roster finds.
#include "capture/job/attached.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/sys/clock.h"
#include "base/sys/process.h"
#include "capture/job/roster.h"
#include "tests/capture/job/driver.h"

namespace chokepoint::capture::job {
namespace {

const sys::Root kRoot;

TEST(AttachedProcess, IsOverOnceItHasEnded) {
  Result<sys::Process> process = sys::Process::start({.command = {"sleep", "60"}});
  const auto attached = Attached::attach({.pid = process->pid()}, kRoot);
  ASSERT_TRUE(attached);
  EXPECT_FALSE((*attached)->is_over());
  process->signal(SIGKILL).value();
  pollfd one{(*attached)->descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&one, 1, 10'000), 1);
  EXPECT_TRUE((*attached)->is_over());
  process->wait().value();
}

TEST(AttachedProcess, WhatIsNotThereAndWhatIsNoProcessAreErrors) {
  EXPECT_EQ(Attached::attach({.pid = 1 << 22}, kRoot).error().kind, ErrorKind::NotFound);
  std::atomic<pid_t> thread = 0;
  std::atomic<bool> is_done = false;
  std::jthread other([&] {
    thread = gettid();
    while (!is_done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  EXPECT_TRUE(await([&] { return thread != 0; }));
  EXPECT_EQ(Attached::attach({.pid = thread}, kRoot).error().kind, ErrorKind::Usage);
  is_done = true;
}

std::vector<JobProcess> look(Roster& roster) {
  roster.refresh(sys::SystemClock().monotonic_ns());
  return *roster.processes();
}

bool has(const std::vector<JobProcess>& processes, const std::string& command, int rank) {
  return std::ranges::any_of(processes, [&](const JobProcess& one) {
    return one.command == command && one.rank.rank == rank;
  });
}

TEST(RosterOfRealProcesses, FindsRanksAfterTheirExecAndWhoLeftItsParent) {
  sys::adopt_orphans().value();
  // As torchrun: forks, sets the environment, executes. The last one is a daemon by the book.
  const std::string script =
      "(RANK=0 exec sleep 61) & (RANK=1 exec sleep 62) & (setsid sh -c 'RANK=2 sleep 63 & ') & "
      "wait";
  Result<sys::Process> process = sys::Process::start({.command = {"sh", "-c", script}});
  Roster roster(kRoot, {.pid = process->pid(), .adopter = getpid()}, nullptr);
  EXPECT_TRUE(await([&] {
    const std::vector<JobProcess> processes = look(roster);
    return has(processes, "sleep 61", 0) && has(processes, "sleep 62", 1) &&
           has(processes, "sleep 63", 2);
  }));
  for (const JobProcess& one : look(roster)) {
    EXPECT_NE(one.network, 0U);
    EXPECT_LE(one.start_ns, sys::SystemClock().monotonic_ns());
    EXPECT_GT(one.start_ns, sys::SystemClock().monotonic_ns() - 60'000'000'000);
    kill(one.pid, SIGKILL);
  }
  EXPECT_TRUE(await([&] { return look(roster).empty(); }));
  process->wait().value();
}

}  // namespace
}  // namespace chokepoint::capture::job
