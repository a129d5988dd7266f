#include "capture/stall/rank_watch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <functional>

#include "tests/fakes/host_tree.h"
#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::stall {
namespace {

using fakes::kSecond;
using record::RankDoes;

// What /proc says of one process.
struct Process {
  char state = 'S';
  std::uint64_t ticks = 0;  // of processor time, a hundredth of a second each
  std::uint64_t faults = 0;
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::string waits_in = "futex_do_wait";
  std::string call = "202 0x7f00 0x80";
};

class RankWatchTest : public testing::Test {
 protected:
  RankWatchTest() {
    tree_.write("/data/train-1", "");
    tree_.link("/proc/100/fd/5", "/data/train-1");
    tree_.link("/proc/101/fd/5", "/data/train-1");
    is(100, {});
  }

  void is(pid_t pid, const Process& process) const {
    const std::string folder = fmt::format("/proc/{}/", pid);
    tree_.write(folder + "stat",
                fmt::format("{} (py (3) x) {} 1 1 1 0 -1 0 {} 0 0 0 {} 0 0 0 20 0 1 0 7 0 0", pid,
                            process.state, process.faults, process.ticks));
    tree_.write(folder + "io",
                fmt::format("rchar: {}\nwchar: 0\nsyscr: {}\nsyscw: 0\nread_bytes: 0\n"
                            "write_bytes: 0\n",
                            process.bytes, process.calls));
    tree_.write(folder + "status", "Name:\tpy\nvoluntary_ctxt_switches:\t7\n");
    tree_.write(folder + "wchan", process.waits_in);
    tree_.write(folder + "syscall", process.call);
  }
  // Looks once a second; `then` changes the process between two looks.
  void sample(int seconds, const std::function<void(int second)>& then = [](int) {}) {
    for (int second = 0; second < seconds; ++second) {
      then(second);
      watch_.sample(tree_.root(), helpers_, now_ns_);
      now_ns_ += kSecond;
    }
  }
  record::StallRank report() { return watch_.report(tree_.root(), now_ns_ - kSecond); }

  fakes::HostTree tree_ = fakes::HostTree::from_text(
      "/proc/100/mountinfo = 31 30 0:44 / /data rw - nfs4 server:/export rw\n");
  std::int64_t now_ns_ = 100 * kSecond;
  std::vector<pid_t> helpers_;
  RankWatch watch_{tree_.root(), {.pid = 100, .rank = {.rank = 3}}};
};

TEST_F(RankWatchTest, ARankThatSleepsIsToldWithWhereItSleeps) {
  EXPECT_FALSE(watch_.is_known());
  sample(6);
  EXPECT_TRUE(watch_.is_known());
  const record::StallRank rank = report();
  EXPECT_EQ(rank.does, RankDoes::Sleeps);
  EXPECT_EQ(rank.rank, 3);
  EXPECT_EQ(rank.state, "S");
  EXPECT_EQ(rank.waits_in, "futex_do_wait");
  EXPECT_EQ(rank.system_call, 202);
  EXPECT_DOUBLE_EQ(rank.for_s, 5);
}

TEST_F(RankWatchTest, AStoppedOneIsToldAtOnce) {
  sample(3);
  is(100, {.state = 'T'});
  sample(1);
  EXPECT_EQ(report().does, RankDoes::Stopped);
}

TEST_F(RankWatchTest, OneOfAFrozenGroupIsStopped) {
  is(100, {.state = 'S', .waits_in = "do_freezer_trap"});
  sample(3);
  EXPECT_EQ(report().does, RankDoes::Stopped);
}

TEST_F(RankWatchTest, AReadWithoutAByteHangsAndNamesItsFile) {
  is(100, {.state = 'D', .waits_in = "rpc_wait_bit_killable", .call = "0 0x5 0x7f00"});
  sample(6);
  const record::StallRank rank = report();
  EXPECT_EQ(rank.does, RankDoes::Reads);
  EXPECT_EQ(rank.file, "/data/train-1");
  EXPECT_EQ(rank.mount, "/data");
}

TEST_F(RankWatchTest, AReadOfAMomentHangsNot) {
  sample(4);
  is(100, {.state = 'D', .waits_in = "rpc_wait_bit_killable", .call = "0 0x5 0x7f00"});
  sample(2);
  EXPECT_EQ(report().does, RankDoes::Sleeps);
}

TEST_F(RankWatchTest, BytesOfFilesAreWork) {
  sample(6, [&](int second) {
    is(100, {.state = 'D',
             .bytes = static_cast<std::uint64_t>(second) * 1'000'000,
             .waits_in = "balance_dirty_pages",
             .call = "1 0x5 0x7f00"});
  });
  EXPECT_EQ(report().does, RankDoes::Moves);
}

// The kernel writes for it what it wrote before.
TEST_F(RankWatchTest, AFlushIsWork) {
  is(100,
     {.state = 'D', .waits_in = "folio_wait_writeback", .call = fmt::format("{} 0x5", SYS_fsync)});
  sample(6);
  EXPECT_EQ(report().does, RankDoes::Moves);
}

TEST_F(RankWatchTest, AProcessorWithoutATraceSpins) {
  sample(6, [&](int second) {
    is(100, {.state = 'R', .ticks = static_cast<std::uint64_t>(second) * 99, .call = "running"});
  });
  const record::StallRank rank = report();
  EXPECT_EQ(rank.does, RankDoes::Spins);
  EXPECT_NEAR(rank.cpu_percent, 99, 1);
}

// Others have the processors.
TEST_F(RankWatchTest, AThreadThatWaitsForAProcessorDoesNotSleep) {
  sample(6, [&](int second) {
    is(100, {.state = 'R', .ticks = static_cast<std::uint64_t>(second), .call = "running"});
  });
  EXPECT_EQ(report().does, RankDoes::Spins);
}

TEST_F(RankWatchTest, AProcessorWithTracesWorks) {
  sample(6, [&](int second) {
    const auto passed = static_cast<std::uint64_t>(second);
    is(100, {.state = 'R', .ticks = passed * 60, .faults = passed * 50, .call = "running"});
  });
  EXPECT_EQ(report().does, RankDoes::Moves);
}

TEST_F(RankWatchTest, AHelperThatWorksIsTheRanksWork) {
  helpers_ = {101};
  sample(6, [&](int second) {
    const auto passed = static_cast<std::uint64_t>(second);
    is(101, {.state = 'R', .ticks = passed * 90, .calls = passed * 100, .call = "running"});
  });
  EXPECT_EQ(report().does, RankDoes::Moves);
}

TEST_F(RankWatchTest, ALoaderThatHangsIsTheRanksHang) {
  helpers_ = {101};
  is(101, {.state = 'D', .waits_in = "rpc_wait_bit_killable", .call = "0 0x5 0x7f00"});
  sample(6);
  const record::StallRank rank = report();
  EXPECT_EQ(rank.does, RankDoes::Reads);
  EXPECT_EQ(rank.file, "/data/train-1");
}

}  // namespace
}  // namespace chokepoint::capture::stall
