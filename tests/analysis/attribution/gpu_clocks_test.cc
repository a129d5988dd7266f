#include "analysis/attribution/gpu_clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/diagnose.h"
#include "base/record/names.h"
#include "tests/analysis/attribution/sound.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;
using testing::HasSubstr;

constexpr const char* kClockedGpu = "0000:3b:00.0";
constexpr double kIdle = 0x1;
constexpr double kChosen = 0x2;
constexpr double kPowerCap = 0x4;
constexpr double kHot = 0x8 | 0x40;

struct GpuReadings {
  double mhz = 1980;
  double bits = 0;
  double max_mhz = 1980;
};

// Three hosts with a GPU each, which compute for 80 of every 100 ms and exchange for the rest.
class GpuClocksTest : public testing::Test {
 protected:
  GpuClocksTest() {
    for (const char* name : {"a", "b", "c"}) {
      made_.host(name);
    }
    for (const auto& [from, to] : {std::pair("a", "b"), {"b", "c"}, {"c", "a"}}) {
      made_.add_traffic(made_.connect(from, to), Direction::AToB, {.busy_ms = 3, .mbps = 500});
    }
  }
  void gpu(const char* node, const GpuReadings& clocks, const char* address = kClockedGpu) {
    NodeData& own = made_.node(node);
    own.events.push_back({.kind = std::string(record::kGpuProcess), .subject = address});
    made_.gauge(own, record::kGpuClock, address, clocks.mhz);
    made_.gauge(own, record::kGpuMaxClock, address, clocks.max_mhz);
    made_.gauge(own, record::kGpuThrottle, address, clocks.bits);
  }
  Diagnosis late(const std::vector<double>& late_ms) {
    made_.collectives(3, late_ms);
    Diagnosis found = diagnose(made_.data);
    expect_sound(found);
    return found;
  }
  const Evidence* evidence(const Verdict& verdict, const char* text) const {
    for (const Evidence& each : verdict.evidence) {
      if (each.what.find(text) != std::string::npos) {
        return &each;
      }
    }
    return nullptr;
  }

  MadeRun made_;
};

TEST_F(GpuClocksTest, ALateRankWhoseGpuIsHotIsLateForThat) {
  gpu("a", {});
  gpu("b", {.mhz = 1200, .bits = kHot});
  gpu("c", {.mhz = 1960});
  const Diagnosis found = late({0, 30, 1});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Straggler);
  EXPECT_EQ(found.verdict.cause, Cause::GpuThrottled);
  EXPECT_EQ(found.verdict.where.node, "b");
  EXPECT_EQ(found.verdict.where.rank, 1);
  EXPECT_EQ(found.verdict.where.interface, kClockedGpu);
  const Evidence* reason = evidence(found.verdict, "(hardware-thermal)");
  ASSERT_NE(reason, nullptr) << "the finer one of two that held as long";
  EXPECT_EQ(reason->value, 100);
  ASSERT_NE(evidence(found.verdict, "its clock during that time"), nullptr);
  EXPECT_EQ(evidence(found.verdict, "its clock during that time")->value, 1200);
  ASSERT_NE(evidence(found.verdict, "other ranks' GPUs"), nullptr);
  EXPECT_EQ(evidence(found.verdict, "other ranks' GPUs")->value, 1970);
  ASSERT_FALSE(found.verdict.advice.empty());
  EXPECT_THAT(found.verdict.advice.front().command, HasSubstr(kClockedGpu));
  EXPECT_THAT(sentence_of(found.verdict), HasSubstr("runs at reduced clocks"));
}

TEST_F(GpuClocksTest, OfSeveralGpusTheSlowestHoldsItsRankUp) {
  gpu("a", {});
  gpu("b", {});
  gpu("b", {.mhz = 1100, .bits = kPowerCap}, "0000:5e:00.0");
  gpu("c", {});
  const Diagnosis found = late({0, 30, 0});
  EXPECT_EQ(found.verdict.cause, Cause::GpuThrottled);
  EXPECT_EQ(found.verdict.where.interface, "0000:5e:00.0");
}

TEST_F(GpuClocksTest, ThatAreLowForNoReasonOfTheirOwnAreNotBlamed) {
  for (const double bits : {0.0, kIdle, kChosen}) {
    made_.data.nodes[1].series.clear();
    gpu("b", {.mhz = 600, .bits = bits});
    const Diagnosis found = late({0, 30, 0});
    EXPECT_EQ(found.verdict.verdict, VerdictClass::Straggler) << bits;
    EXPECT_EQ(found.verdict.cause, Cause::LateRank) << bits;
    for (NodeData& node : made_.data.nodes) {
      node.collectives.clear();
    }
  }
}

TEST_F(GpuClocksTest, AsLowAsTheOthersHoldNobodyUp) {
  for (const char* node : {"a", "b", "c"}) {
    gpu(node, {.mhz = 1400, .bits = kPowerCap});
  }
  EXPECT_EQ(late({0, 30, 0}).verdict.cause, Cause::LateRank);
}

TEST_F(GpuClocksTest, OfAModelWithLowerOnesAreNotThrottled) {
  gpu("a", {});
  gpu("b", {.mhz = 1400, .bits = kPowerCap, .max_mhz = 1410});
  gpu("c", {});
  EXPECT_EQ(late({0, 30, 0}).verdict.cause, Cause::LateRank);
}

TEST_F(GpuClocksTest, WithReasonsThatNoDriverTellsAreNotThrottled) {
  for (const double bits : {-4.0, 1e300}) {
    made_.data.nodes[1].series.clear();
    gpu("b", {.mhz = 1100, .bits = bits});
    const auto clocks = slowest_gpu(made_.node("b"), made_.span());
    ASSERT_TRUE(clocks);
    EXPECT_EQ(clocks->slowed_percent, 0) << bits;
  }
}

TEST_F(GpuClocksTest, ALittleLowerDoNotExplainALongWait) {
  gpu("a", {});
  gpu("b", {.mhz = 1850, .bits = kPowerCap});
  gpu("c", {});
  EXPECT_EQ(late({0, 40, 0}).verdict.cause, Cause::LateRank);
}

TEST_F(GpuClocksTest, OfATimeInWhichNothingRanDoNotCount) {
  gpu("a", {});
  gpu("b", {.mhz = 345, .bits = kIdle});
  gpu("c", {});
  // For the last tenth of the run it worked, and was free to.
  const std::int64_t from_ns = made_.span().end_ns - made_.span().length_ns() / 10;
  for (SeriesData& series : made_.node("b").series) {
    if (series.row.name == record::kGpuThrottle) {
      series.readings.push_back({.t_ns = from_ns, .value = 0});
    } else if (series.row.name == record::kGpuClock) {
      series.readings.push_back({.t_ns = from_ns, .value = 1980});
    }
  }
  const auto clocks = slowest_gpu(made_.node("b"), made_.span());
  ASSERT_TRUE(clocks);
  EXPECT_EQ(clocks->clock_mhz, 1980);
  EXPECT_EQ(clocks->slowed_percent, 0);
  EXPECT_EQ(late({0, 30, 0}).verdict.cause, Cause::LateRank);
}

TEST_F(GpuClocksTest, OfAGpuThatIsNotTheJobsAreNotTheJobs) {
  gpu("a", {});
  gpu("b", {});
  gpu("b", {.mhz = 600, .bits = kHot}, "0000:5e:00.0");
  made_.node("b").events.pop_back();
  gpu("c", {});
  EXPECT_EQ(late({0, 30, 0}).verdict.cause, Cause::LateRank);
}

TEST_F(GpuClocksTest, AreHeldAgainstTheirOwnBestWhereNoOthersAreKnown) {
  gpu("b", {.mhz = 1000, .bits = kHot});
  const Diagnosis found = late({0, 30, 0});
  EXPECT_EQ(found.verdict.cause, Cause::GpuThrottled);
  EXPECT_EQ(evidence(found.verdict, "it can run at")->value, 1980);
}

TEST_F(GpuClocksTest, InAContainerNcclTellsThatThoseAtWorkAreTheJobs) {
  NodeData& b = made_.node("b");
  gpu("b", {.mhz = 1000, .bits = kHot});
  b.events.clear();
  made_.gauge(b, record::kGpuUtilization, kClockedGpu, 90);
  EXPECT_FALSE(slowest_gpu(b, made_.span())) << "it may be anybody's";
  b.collectives.push_back({.source = record::CollectiveSource::Nccl});
  EXPECT_TRUE(slowest_gpu(b, made_.span()));
  b.series.pop_back();
  made_.gauge(b, record::kGpuUtilization, kClockedGpu, 1);
  EXPECT_FALSE(slowest_gpu(b, made_.span()));
}

TEST_F(GpuClocksTest, LowOnAllAreARemarkOnComputing) {
  for (const char* node : {"a", "b", "c"}) {
    gpu(node, {.mhz = 1300, .bits = kPowerCap});
  }
  const Diagnosis found = late({0, 0, 0});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Compute);
  EXPECT_EQ(found.verdict.cause, Cause::GpuThrottled);
  EXPECT_NE(evidence(found.verdict, "(power-cap)"), nullptr);
  EXPECT_EQ(evidence(found.verdict, "it can run at")->value, 1980);
  ASSERT_FALSE(found.verdict.advice.empty());
}

TEST_F(GpuClocksTest, NearTheirBestAreNotWorthARemark) {
  for (const char* node : {"a", "b", "c"}) {
    gpu(node, {.mhz = 1900, .bits = kPowerCap});
  }
  const Diagnosis found = late({0, 0, 0});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Compute);
  EXPECT_EQ(found.verdict.cause, Cause::None);
}

}  // namespace
}  // namespace chokepoint::analysis
