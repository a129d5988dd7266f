#include "capture/counter/watcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include "capture/counter/sampler.h"
#include "tests/capture/counter/watching.h"

namespace chokepoint::capture::counter {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::Pair;

class WatcherTest : public Watching {
 protected:
  std::unique_ptr<Watcher> watcher(const sys::Root& root) const {
    return Watcher::make({.spent_ns = [] { return 0; }}, root, clock_, *writer_);
  }
};

TEST_F(WatcherTest, WhatIsCheapIsReadTenTimesAsOften) {
  tree_.write("/proc/stat", "cpu0 0 0 0 0 0 0 0 0\n");
  tree_.write("/proc/pressure/cpu", "some total=0\n");
  const auto watching = watcher(tree_.root());
  int ticks = 0;
  for (; clock_.monotonic < 3 * kSecond; ++ticks) {
    tree_.write("/proc/stat", "cpu0 " + std::to_string(ticks) + " 0 0 0 0 0 0 0\n");
    tree_.write("/proc/pressure/cpu", "some total=" + std::to_string(ticks) + "\n");
    const std::int64_t next_ns = watching->tick(processes_);
    EXPECT_GT(next_ns, clock_.monotonic_ns());
    clock_.advance(next_ns - clock_.monotonic_ns());
  }
  EXPECT_EQ(ticks, 40);  // what ranks wait for is looked at every 50 ms
  close();
  EXPECT_EQ(counters_.of("cpu.busy_ns", "cpu0").size(), 20U);
  EXPECT_EQ(counters_.of("pressure.some_ns", "cpu").size(), 2U);
}

TEST_F(WatcherTest, ALateTickIsNotCaughtUpOn) {
  tree_.write("/proc/stat", "cpu0 0 0 0 0 0 0 0 0\n");
  const auto watching = watcher(tree_.root());
  watching->tick(processes_);
  clock_.advance(7 * kSecond);
  EXPECT_GT(watching->tick(processes_), clock_.monotonic_ns());
  close();
}

TEST_F(WatcherTest, AHostThatShowsNothingIsNoTroubleAndSaysSo) {
  const auto watching = watcher(tree_.root());
  for (int i = 0; i < 30; ++i) {
    watching->tick(processes_);
    clock_.advance(kSecond / 10);
  }
  watching->finish(processes_);
  const Figures figures = watching->figures();
  EXPECT_THAT(figures.nics, IsEmpty());
  EXPECT_FALSE(figures.busiest_core_percent);
  EXPECT_FALSE(figures.own_cpu_percent);
  EXPECT_FALSE(figures.gpu_percent);
  EXPECT_THAT(figures.remarks, Contains(testing::StartsWith("interfaces: ")));
  const std::set<std::string> different(figures.remarks.begin(), figures.remarks.end());
  EXPECT_EQ(different.size(), figures.remarks.size());
  close();
  EXPECT_THAT(series_, IsEmpty());
}

TEST_F(WatcherTest, FinishTellsTheLastReading) {
  tree_.write("/proc/net/softnet_stat", "1 0 0\n");
  const auto watching = watcher(tree_.root());
  watching->tick(processes_);
  clock_.advance(kSecond / 20);
  tree_.write("/proc/net/softnet_stat", "1 a 0\n");
  watching->finish(processes_);
  close();
  EXPECT_THAT(counters_.values("softnet.dropped", "all"), ElementsAre(0, 10));
}

std::map<std::string, double> metrics_in(const Figures& figures, std::string_view name) {
  std::map<std::string, double> found;
  for (const SeriesValue& each : *figures.series) {
    if (each.row->name == name) {
      found[each.subject] = each.value;
    }
  }
  return found;
}

TEST_F(WatcherTest, DevicesThatCountedHaveAllOfTheirMetrics) {
  tree_.write("/proc/diskstats",
              "8 0 sda 5 0 100 7 0 0 0 0 0 0 0\n"
              "8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n");
  tree_.write("/sys/block/sda/size", "1\n");
  tree_.write("/sys/block/sdb/size", "1\n");
  tree_.write("/proc/pressure/io", "some total=3\n");
  const auto watching = watcher(tree_.root());
  watching->tick(processes_);
  const Figures figures = watching->figures();
  EXPECT_THAT(metrics_in(figures, "disk.read_bytes"), ElementsAre(Pair("sda", 51'200)));
  EXPECT_THAT(metrics_in(figures, "disk.written_bytes"), ElementsAre(Pair("sda", 0)));
  EXPECT_THAT(metrics_in(figures, "pressure.some_ns"), ElementsAre(Pair("io", 3'000)));
}

TEST_F(WatcherTest, AHostOfManyInterfacesHasABoundedNumberOfMetrics) {
  std::string text = "Inter-|\n face |\n";
  for (int number = 1; number <= 300; ++number) {
    text += fmt::format("veth{}: {} 0 0 0 0 0 0 0 7 0 0 0 0 0 0 0\n", number, number);
  }
  tree_.write("/proc/net/dev", text);
  const auto watching = watcher(tree_.root());
  watching->tick(processes_);
  const auto received = metrics_in(watching->figures(), "nic.received_bytes");
  EXPECT_EQ(received.size(), kMaxSubjects);
  EXPECT_TRUE(received.contains("veth300"));
  EXPECT_FALSE(received.contains("veth1"));
}

// The host that runs the test: whatever it is, it has a processor and we are on it.
TEST_F(WatcherTest, TheRealHost) {
  const sys::SystemClock clock;
  processes_ = {{.pid = getpid(), .start_ticks = 1}};
  const auto watching = Watcher::make({.interval_ns = 1'000'000, .slow_interval_ns = 5'000'000},
                                      sys::Root(), clock, *writer_);
  const std::int64_t end_ns = clock.monotonic_ns() + 300'000'000;
  while (clock.monotonic_ns() < end_ns) {
    const std::int64_t next_ns = watching->tick(processes_);
    std::this_thread::sleep_for(std::chrono::nanoseconds(next_ns - clock.monotonic_ns()));
  }
  watching->finish(processes_);
  EXPECT_TRUE(watching->figures().own_cpu_percent);
  close();
  EXPECT_THAT(series_, Contains(Field(&record::Series::name, "cpu.busy_ns")));
  EXPECT_THAT(series_, Contains(Field(&record::Series::name, "tcp.OutSegs")));
  EXPECT_THAT(series_, Contains(Field(&record::Series::name, "process.memory_bytes")));
  EXPECT_GT(counters_.values("process.cpu_ns", std::to_string(getpid())).size(), 0U);
}

TEST(PaceTest, WhatCostsMoreThanItsShareIsReadMoreSeldom) {
  Pace pace(100, 0.01);
  pace.done(0, 0);
  EXPECT_EQ(pace.due_ns(), 100);
  for (int i = 0; i < 50; ++i) {
    pace.done(pace.due_ns(), 10);
  }
  const std::int64_t due = pace.due_ns();
  pace.done(due, 10);
  EXPECT_NEAR(static_cast<double>(pace.due_ns() - due), 1000, 5);
}

}  // namespace
}  // namespace chokepoint::capture::counter
