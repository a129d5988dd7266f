#include <fmt/format.h>

#include "tests/capture/counter/watching.h"

namespace chokepoint::capture::counter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kMs = 1'000'000;

TEST(KindOfThread, NumbersBehindASeparatorAreOneKind) {
  EXPECT_EQ(kind_of_thread("pt_autograd_0"), "pt_autograd_*");
  EXPECT_EQ(kind_of_thread("NCCL Progress12"), "NCCL Progress12");
  EXPECT_EQ(kind_of_thread("NCCL Service 3"), "NCCL Service *");
  EXPECT_EQ(kind_of_thread("python3"), "python3");
  EXPECT_EQ(kind_of_thread("gloo_tcp_loop"), "gloo_tcp_loop");
  EXPECT_EQ(kind_of_thread("42"), "42");
  EXPECT_EQ(kind_of_thread(""), "");
}

class ThreadSamplerTest : public Watching {
 protected:
  ThreadSamplerTest() { start(100, 7); }

  void start(pid_t pid, std::uint64_t start_ticks) {
    processes_ = {{.pid = pid, .start_ticks = start_ticks, .rank = {.rank = 3}}};
    tree_.write(fmt::format("/proc/{}/comm", pid), "python3\n");
  }

  void thread(pid_t tid, const std::string& comm, std::uint64_t cpu_ns, std::uint64_t wait_ns = 0,
              const std::string& waits_in = "0") const {
    const std::string folder = fmt::format("/proc/100/task/{}/", tid);
    tree_.write(folder + "comm", comm + "\n");
    tree_.write(folder + "schedstat", fmt::format("{} {} 5\n", cpu_ns, wait_ns));
    tree_.write(folder + "wchan", waits_in);
  }

  // Of a thread that is there already.
  void thread_goes_on(pid_t tid, std::uint64_t cpu_ns) const {
    tree_.write(fmt::format("/proc/100/task/{}/schedstat", tid), fmt::format("{} 0 5\n", cpu_ns));
  }

  std::unique_ptr<Sampler> sampler_ = thread_sampler(tree_.root());
};

TEST_F(ThreadSamplerTest, MainTheLoopAndTheRestAreToldApart) {
  thread(100, "python3", 400 * kMs, 9 * kMs);
  thread(101, "python3", 100 * kMs, 2 * kMs, "do_epoll_wait");
  thread(102, "python3", 60 * kMs, 0, "futex_do_wait");
  thread(103, "pt_autograd_0", 500 * kMs);
  sample(sampler_);
  thread(100, "python3", 900 * kMs, 10 * kMs);
  thread(101, "python3", 1100 * kMs, 200 * kMs, "0");
  thread(102, "python3", 160 * kMs);
  thread(103, "pt_autograd_0", 700 * kMs);
  sample(sampler_);
  Figures figures;
  sampler_->report(figures);
  EXPECT_EQ(figures.busiest_thread, "python3 (epoll), rank 3");
  EXPECT_DOUBLE_EQ(figures.busiest_thread_percent.value_or(0), 100);
  close();
  const auto ms = [](double value) { return value * static_cast<double>(kMs); };
  EXPECT_THAT(counters_.values("thread.cpu_ns", "100/python3 (main)"),
              ElementsAre(ms(400), ms(900)));
  EXPECT_THAT(counters_.values("thread.cpu_ns", "100/python3 (epoll)"),
              ElementsAre(ms(100), ms(1100)));
  EXPECT_THAT(counters_.values("thread.wait_ns", "100/python3 (epoll)"),
              ElementsAre(ms(2), ms(200)));
  EXPECT_THAT(counters_.values("thread.cpu_ns", "100/python3"), ElementsAre(ms(60), ms(160)));
  EXPECT_THAT(counters_.values("thread.cpu_ns", "100/pt_autograd_*"),
              ElementsAre(ms(500), ms(700)));
}

TEST_F(ThreadSamplerTest, APoolIsOneSeriesAndItsBusiestThreadIsTold) {
  for (int i = 0; i < 256; ++i) {
    thread(200 + i, fmt::format("pool-{}", i), 0);
  }
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 256; ++i) {
      const std::uint64_t each = i == 17 ? 900 : 1;
      thread_goes_on(200 + i, each * static_cast<std::uint64_t>(round) * kMs);
    }
    sample(sampler_);
  }
  close();
  EXPECT_EQ(series_.size(), 2U);
  EXPECT_EQ(counters_.values("thread.cpu_ns", "100/pool-*").back(), 1155.0 * 3 * kMs);
  EXPECT_THAT(gauges_.values("thread.busiest_percent", "100/pool-*"), ElementsAre(90));
}

TEST_F(ThreadSamplerTest, NamesThatAreAllDifferentAreBounded) {
  for (int i = 0; i < 500; ++i) {
    thread(200 + i, fmt::format("w{}x", i), 0);
  }
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 500; ++i) {
      thread_goes_on(200 + i, static_cast<std::uint64_t>(round) * 100 * kMs);
    }
    sample(sampler_);
  }
  close();
  EXPECT_LE(series_.size(), 3U * 12U);
  EXPECT_FALSE(series_.empty());
}

TEST_F(ThreadSamplerTest, WhatAThreadDidStaysWhenItEnds) {
  thread(100, "python3", 100 * kMs);
  thread(101, "worker", 300 * kMs);
  thread(102, "worker", 200 * kMs);
  sample(sampler_);
  tree_.remove("/proc/100/task/101");
  thread(102, "worker", 250 * kMs);
  sample(sampler_);
  tree_.remove("/proc/100/task/102");
  thread(103, "worker", 50 * kMs);
  sample(sampler_);
  close();
  const double ms = kMs;
  EXPECT_THAT(counters_.values("thread.cpu_ns", "100/worker"),
              ElementsAre(500 * ms, 550 * ms, 600 * ms));
}

TEST_F(ThreadSamplerTest, AThreadThatIsNamedLaterTakesOnlyWhatItDidSince) {
  tree_.write("/proc/100/comm", "python3\n");
  thread(101, "python3", 200 * kMs);
  sample(sampler_);
  thread(101, "pt_autograd_0", 230 * kMs);
  for (const std::uint64_t cpu_ms : {230, 260, 400, 500}) {
    thread(101, "pt_autograd_0", cpu_ms * kMs);
    sample(sampler_);
  }
  close();
  const double ms = kMs;
  EXPECT_EQ(counters_.values("thread.cpu_ns", "100/python3").back(), 230 * ms);
  EXPECT_THAT(counters_.values("thread.cpu_ns", "100/pt_autograd_*"),
              ElementsAre(170 * ms, 270 * ms));
}

TEST_F(ThreadSamplerTest, ThousandsOfThreadsAreLookedAtInTurns) {
  processes_.clear();
  for (pid_t pid = 1000; pid < 1008; ++pid) {
    processes_.push_back({.pid = pid, .start_ticks = 1});
    for (int i = 0; i < 40; ++i) {
      const std::string folder = fmt::format("/proc/{}/task/{}/", pid, pid + 1000 * i);
      tree_.write(folder + "comm", "rank\n");
      tree_.write(folder + "schedstat", "0 0 0\n");
    }
  }
  for (std::uint64_t round = 1; round <= 8; ++round) {
    for (const job::JobProcess& process : processes_) {
      tree_.write(fmt::format("/proc/{}/task/{}/schedstat", process.pid, process.pid),
                  fmt::format("{} 0 0\n", round * 100 * kMs));
    }
    sample(sampler_);
  }
  close();
  for (const job::JobProcess& process : processes_) {
    EXPECT_GT(counters_.of("thread.cpu_ns", fmt::format("{}/rank (main)", process.pid)).size(), 1U);
  }
  const auto first = counters_.times_ms("thread.cpu_ns", "1000/rank (main)");
  EXPECT_GE(first.at(1) - first.at(0), 2000) << "half of them at a time";
}

TEST_F(ThreadSamplerTest, AnotherProcessOfTheSamePidGoesOn) {
  thread(100, "python3", 400 * kMs);
  sample(sampler_);
  thread(100, "python3", 500 * kMs);
  sample(sampler_);
  start(100, 8);
  thread(100, "python3", 450 * kMs);
  sample(sampler_);
  close();
  const double ms = kMs;
  EXPECT_THAT(counters_.values("thread.cpu_ns", "100/python3 (main)"),
              ElementsAre(400 * ms, 500 * ms, 950 * ms));
}

TEST_F(ThreadSamplerTest, WithoutSchedstatTheTicksAreTaken) {
  const auto stat = [&](int ticks) {
    tree_.write("/proc/100/task/100/comm", "python3");
    tree_.write(
        "/proc/100/task/100/stat",
        fmt::format("100 (a) b) R 1 1 1 0 -1 0 0 0 0 0 {} 20 0 0 20 0 1 0 5 0 300 0", ticks));
  };
  stat(10);
  sample(sampler_);
  stat(60);
  sample(sampler_);
  close();
  EXPECT_THAT(counters_.values("thread.cpu_ns", "100/python3 (main)"),
              ElementsAre(300.0 * kMs, 800.0 * kMs));
}

TEST_F(ThreadSamplerTest, AProcessThatIsGoneIsNoTrouble) {
  thread(100, "python3", 400 * kMs);
  sample(sampler_);
  tree_.remove("/proc/100");
  sample(sampler_);
  processes_.clear();
  sample(sampler_);
  Figures figures;
  sampler_->report(figures);
  EXPECT_FALSE(figures.busiest_thread_percent);
  close();
}

class ProcessSamplerTest : public Watching {
 protected:
  void stat(const std::string& process, int ticks, int pages) const {
    tree_.write(
        "/proc/" + process + "/stat",
        fmt::format("7 (x y) S 1 1 1 0 -1 0 0 0 0 0 {} 0 9 9 20 0 1 0 5 0 {} 0", ticks, pages));
  }
};

TEST_F(ProcessSamplerTest, TimeAndMemoryOfEachProcess) {
  processes_ = {{.pid = 7, .start_ticks = 1}};
  const std::unique_ptr<Sampler> sampler = process_sampler(tree_.root());
  stat("7", 100, 10'000);
  sample(sampler);
  stat("7", 150, 10'001);
  sample(sampler);
  stat("7", 200, 90'000);
  sample(sampler);
  close();
  EXPECT_THAT(counters_.values("process.cpu_ns", "7"), ElementsAre(1e9, 1.5e9, 2e9));
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  EXPECT_THAT(gauges_.values("process.memory_bytes", "7"),
              ElementsAre(10'000 * page, 90'000 * page));
}

TEST_F(ProcessSamplerTest, OwnCostIsOfTheTimeSinceTheStart) {
  const std::unique_ptr<Sampler> sampler = own_sampler(tree_.root());
  stat("self", 100, 1000);
  sample(sampler);
  stat("self", 102, 1000);
  sample(sampler);
  Figures figures;
  sampler->report(figures);
  EXPECT_DOUBLE_EQ(figures.own_cpu_percent.value_or(0), 2);
  close();
  EXPECT_THAT(counters_.values("chokepoint.cpu_ns", ""), ElementsAre(1e9, 1.02e9));
}

}  // namespace
}  // namespace chokepoint::capture::counter
