#include "analysis/attribution/hosts.h"

#include <gtest/gtest.h>

#include "base/record/names.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

class Hosts : public testing::Test {
 protected:
  // In percent of a core.
  void thread(const std::string& name, double works, double waits) {
    made_.counter(node_, record::kThreadCpu, "1000/" + name, works * 1e7);
    made_.counter(node_, record::kThreadWait, "1000/" + name, waits * 1e7);
  }
  void softirq(const std::string& core, double percent) {
    made_.counter(node_, record::kCpuSoftirq, core, percent * 1e7);
  }
  HostLoad load() { return load_of(node_, made_.span()); }

  MadeRun made_;
  NodeData& node_ = made_.host("a");
};

TEST_F(Hosts, AQuotaStarvesThreadsThatAreReady) {
  thread("python3 (main)", 12, 80);
  EXPECT_TRUE(load().is_starved);
  EXPECT_TRUE(load().is_at_limit());
  EXPECT_NEAR(load().waited_percent, 80, 0.1);
  EXPECT_EQ(load().waiting_thread, "python3 (main)");
  EXPECT_EQ(load().cause(), Cause::ProcessCpu);
}

TEST_F(Hosts, WhoWorksMoreThanItWaitsIsMerelyBusy) {
  thread("python3 (main)", 75, 20);
  thread("python3 (worker)", 0.5, 3);
  EXPECT_FALSE(load().is_at_limit());
}

TEST_F(Hosts, AComputingThreadMayFillItsCore) {
  thread("python3 (main)", 100, 0);
  EXPECT_FALSE(load().is_at_limit());
}

TEST_F(Hosts, TheThreadThatMovesDataMayNot) {
  thread("python3 (main)", 100, 0);
  thread("python3 (epoll)", 99, 0.5);
  EXPECT_TRUE(load().is_at_limit());
  EXPECT_FALSE(load().is_starved);
  EXPECT_EQ(load().busiest_thread, "python3 (epoll)");
  EXPECT_EQ(load().cause(), Cause::ProcessCpu);
}

TEST_F(Hosts, ACoreThatOnlyReceivesIsFull) {
  softirq("cpu0", 12);
  softirq("cpu3", 99);
  EXPECT_TRUE(load().is_at_limit());
  EXPECT_EQ(load().softirq_core, "cpu3");
  EXPECT_EQ(load().cause(), Cause::Softirq);
}

TEST_F(Hosts, AllCoresTogetherAreNone) {
  softirq("cpu0", 60);
  softirq("cpu1", 60);
  softirq("all", 120);
  EXPECT_FALSE(load().is_at_limit());
}

TEST_F(Hosts, WhoTookTheProcessorsIsSaidMostFirst) {
  made_.counter(node_, record::kOthersCpu, "backup", 150 * 1e7);
  made_.counter(node_, record::kOthersCpu, "cron", 2 * 1e7);
  made_.counter(node_, record::kOthersCpu, "stress", 180 * 1e7);
  const std::vector<Restraint> consumers = cpu_consumers(node_, made_.span());
  ASSERT_EQ(consumers.size(), 2U);
  EXPECT_EQ(consumers[0].name, "stress");
  EXPECT_NEAR(consumers[0].percent, 180, 0.5);
  EXPECT_EQ(consumers[1].name, "backup");
}

TEST_F(Hosts, TheQuotaThatHeldBackLongestIsSaid) {
  EXPECT_FALSE(throttled_cgroup(node_, made_.span()));
  made_.counter(node_, record::kThrottled, "/a", 20 * 1e7);
  made_.counter(node_, record::kThrottled, "/a/b", 300 * 1e7);
  const auto found = throttled_cgroup(node_, made_.span());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "/a/b");
  EXPECT_NEAR(found->percent, 300, 1);
}

TEST_F(Hosts, WithoutAnyCounterNobodyIsBlamed) {
  EXPECT_FALSE(load().is_at_limit());
  thread("python3 (main)", 10, 90);
  const HostLoad none = load_of(node_, {made_.span().end_ns, made_.span().end_ns});
  EXPECT_FALSE(none.is_at_limit());
  EXPECT_DOUBLE_EQ(none.waited_percent, 0);
}

}  // namespace
}  // namespace chokepoint::analysis
