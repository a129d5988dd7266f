#include <fmt/format.h>

#include "tests/capture/counter/watching.h"

namespace chokepoint::capture::counter {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kTick = 50'000'000;
// Longer than helpers and mounts are looked for again.
constexpr std::int64_t kLong = 11'000'000'000;

class InputSamplerTest : public Watching {
 protected:
  InputSamplerTest() {
    process(100, 1, 3);
    does(100, 'S', "futex_wait_queue");
    tree_.write("/proc/100/mountinfo",
                "30 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                "31 30 0:44 / /data rw - nfs4 server:/export rw\n");
    tree_.write("/data/train-1", "");
  }

  void process(pid_t pid, pid_t parent, std::optional<std::int64_t> rank) {
    processes_.push_back({.pid = pid, .parent = parent, .start_ticks = 7, .rank = {.rank = rank}});
  }
  void does(pid_t pid, char state, const std::string& waits_in = "0",
            const std::string& call = "running", int user_ticks = 0, int system_ticks = 0) const {
    const std::string folder = fmt::format("/proc/{}/", pid);
    tree_.write(folder + "stat", fmt::format("{} (py (3) x) {} 1 1 1 0 -1 0 0 0 0 0 {} {} 0 0", pid,
                                             state, user_ticks, system_ticks));
    tree_.write(folder + "wchan", waits_in);
    tree_.write(folder + "syscall", call);
  }
  // Its first look only sets the clock.
  void look(int times = 1) {
    for (int tick = 0; tick < times; ++tick) {
      sample(sampler_, kTick);
    }
  }
  // Of the whole time, the mean of a share.
  double mean(const std::string& name, const std::string& subject) {
    double sum = 0;
    double time = 0;
    for (const record::GaugeSample& row : gauges_.of(name, subject)) {
      sum += row.value * static_cast<double>(row.bin_ns);
      time += static_cast<double>(row.bin_ns);
    }
    return time > 0 ? sum / time : 0;
  }

  std::unique_ptr<Sampler> sampler_ = input_sampler(tree_.root());
};

TEST_F(InputSamplerTest, ARankThatRunsOrSleepsWaitsForNoFile) {
  look(3);
  does(100, 'R');
  look(3);
  close();
  EXPECT_THAT(series_, IsEmpty());
}

TEST_F(InputSamplerTest, AReadIsToldWithItsMount) {
  tree_.link("/proc/100/fd/5", "/data/train-1");
  look();
  does(100, 'D', "rpc_wait_bit_killable", "0 0x5 0x7f00 0x20000 0x0 0x0 0x0 0x7ffc 0x7f01");
  look(2);
  does(100, 'R');
  look(2);
  close();
  EXPECT_THAT(gauges_.values("input.reading_percent", "100 /data"), ElementsAre(100, 0));
  EXPECT_DOUBLE_EQ(mean("input.reading_percent", "100 /data"), 50);
  EXPECT_THAT(gauges_.of("input.writing_percent", "100 /data"), IsEmpty());
}

TEST_F(InputSamplerTest, AWriteIsToldByItsCallOrByWhereItSleeps) {
  tree_.link("/proc/100/fd/6", "/saved");
  tree_.write("/saved", "");
  look();
  does(100, 'D', "request_wait_answer", fmt::format("{} 0x6 0x7f00 0x20000", SYS_write));
  look();
  does(100, 'D', "jbd2_log_wait_commit", "running");
  look();
  close();
  EXPECT_DOUBLE_EQ(mean("input.writing_percent", "100 /"), 50);
  EXPECT_DOUBLE_EQ(mean("input.writing_percent", "100 ?"), 100);
}

TEST_F(InputSamplerTest, WhereTheSleepIsHiddenOneThatNoSignalEndsIsOfAFile) {
  look();
  does(100, 'D', "0", "running");
  look();
  does(100, 'S', "0", "running");
  look();
  close();
  EXPECT_DOUBLE_EQ(mean("input.reading_percent", "100 ?"), 50);
}

TEST_F(InputSamplerTest, HowLongARankHasWaitedIsShown) {
  look();
  does(100, 'D', "folio_wait_bit_common", fmt::format("{} 0x5", SYS_read));
  look(4);
  Figures figures;
  sampler_->report(figures);
  ASSERT_EQ(figures.waits.size(), 1U);
  EXPECT_EQ(figures.waits[0].rank, 3);
  EXPECT_DOUBLE_EQ(figures.waits[0].read_s, 0.2);
  EXPECT_EQ(figures.waits[0].write_s, 0);
  does(100, 'R');
  processes_.clear();
  sample(sampler_, kLong);
  sample(sampler_, kLong);
  Figures after;
  sampler_->report(after);
  ASSERT_EQ(after.waits.size(), 1U) << "of a rank that has ended";
  EXPECT_DOUBLE_EQ(after.waits[0].read_s, 0.2);
}

// Two loaders, of which one has not worked yet; then both do.
TEST_F(InputSamplerTest, ARankWaitsForItsBatchWhileAllItsLoadersWork) {
  process(101, 100, 3);
  process(102, 100, 3);
  does(101, 'R');
  does(102, 'S', "pipe_read");
  look(3);
  does(102, 'D', "folio_wait_bit_common");
  look(2);
  does(101, 'S', "futex_wait_queue");
  look(2);
  close();
  EXPECT_THAT(gauges_.values("input.waiting_percent", "100"), ElementsAre(100, 0));
  EXPECT_THAT(gauges_.values("input.loaders", "100"), ElementsAre(1, 2));
  EXPECT_DOUBLE_EQ(mean("input.loaders_waiting_percent", "100 ?"), 50);
}

// Its loaders have worked, and wait for something remote now.
TEST_F(InputSamplerTest, ARankThatSleepsAtAQueueWaitsForLoadersThatSleep) {
  process(101, 100, 3);
  does(101, 'R');
  does(100, 'R');
  look(2);
  does(101, 'S', "sk_wait_data");
  for (const char* queue : {"poll_schedule_timeout.constprop.0", "anon_pipe_read"}) {
    does(100, 'S', queue);
    look();
  }
  does(100, 'S', "futex_wait_queue");
  look(2);
  close();
  EXPECT_THAT(gauges_.values("input.waiting_percent", "100"), ElementsAre(100, 0));
  EXPECT_DOUBLE_EQ(mean("input.waiting_percent", "100"), 50);
}

// A look falls on none of the moments in which they work.
TEST_F(InputSamplerTest, LoadersAreKnownByWhatTheyWaitForAndByTheirProcessorTime) {
  for (const pid_t loader : {101, 102, 103, 104}) {
    process(loader, 100, 3);
  }
  does(100, 'S', "poll_schedule_timeout");
  does(101, 'S', "sk_wait_data");
  does(102, 'S', "hrtimer_nanosleep");
  does(103, 'S', "poll_schedule_timeout", "running", 40, 7);
  does(104, 'S', "poll_schedule_timeout", "running", 40, 7);
  look(2);
  does(103, 'S', "poll_schedule_timeout", "running", 41, 9);
  look(2);
  close();
  EXPECT_THAT(gauges_.values("input.waiting_percent", "100"), ElementsAre(100));
  EXPECT_THAT(gauges_.values("input.loaders", "100"), ElementsAre(2, 3));
  EXPECT_NEAR(mean("input.loaders_remote_percent", "100"), 75, 10);
}

TEST_F(InputSamplerTest, HelpersThatOnlyRestAreNoLoaders) {
  process(101, 100, 3);
  does(100, 'S', "poll_schedule_timeout");
  does(101, 'S', "pipe_read", "running", 300, 40);
  look(3);
  close();
  EXPECT_THAT(series_, IsEmpty());
}

TEST_F(InputSamplerTest, ARankWithoutLoadersWaitsAtAQueueForOthers) {
  does(100, 'S', "poll_schedule_timeout.constprop.0");
  look(3);
  close();
  EXPECT_THAT(series_, IsEmpty());
}

TEST_F(InputSamplerTest, ARankThatRunsDoesNotWaitForItsLoaders) {
  process(101, 100, 3);
  does(101, 'R');
  does(100, 'R');
  look(4);
  close();
  EXPECT_THAT(gauges_.of("input.waiting_percent", "100"), IsEmpty());
  EXPECT_THAT(gauges_.values("input.loaders_running_percent", "100"), Each(100));
}

TEST_F(InputSamplerTest, ARankThatSleepsForATimeOfItsOwnWaitsForNoBatch) {
  process(101, 100, 3);
  does(101, 'R');
  does(100, 'S', "hrtimer_nanosleep");
  look(4);
  close();
  EXPECT_THAT(gauges_.of("input.waiting_percent", "100"), IsEmpty());
}

// A shell that has the rank's number, and waits for its child.
TEST_F(InputSamplerTest, WhatOnlyWaitsForItsChildIsNoRank) {
  processes_.clear();
  process(90, 1, 3);
  process(100, 90, 3);
  does(90, 'S', "do_wait");
  does(100, 'D', "folio_wait_bit_common");
  look(3);
  close();
  EXPECT_THAT(gauges_.values("input.reading_percent", "100 ?"), ElementsAre(100));
  EXPECT_THAT(gauges_.of("input.waiting_percent", "90"), IsEmpty());
}

TEST_F(InputSamplerTest, AJobWithoutRanksHasItsFirstProcessForOne) {
  processes_.clear();
  process(100, 1, std::nullopt);
  process(101, 100, std::nullopt);
  does(100, 'S', "do_sys_poll");
  does(101, 'R');
  look(3);
  close();
  EXPECT_THAT(gauges_.values("input.waiting_percent", "100"), ElementsAre(100));
}

TEST_F(InputSamplerTest, ProcessesComeAndGo) {
  process(101, 100, 3);
  does(101, 'R');
  look(3);
  processes_.pop_back();
  sample(sampler_, kLong);
  look(2);
  processes_.clear();
  sample(sampler_, kLong);
  look(2);
  close();
  EXPECT_DOUBLE_EQ(gauges_.values("input.waiting_percent", "100").back(), 0);
}

}  // namespace
}  // namespace chokepoint::capture::counter
