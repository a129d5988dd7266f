// GPUs: over gpu_sampler.cc, gpu_session.cc, gpu_watch.cc and throttle_log.cc.
#include <condition_variable>
#include <mutex>

#include "capture/counter/gpu_sampler.h"
#include "capture/counter/throttle_log.h"
#include "tests/capture/counter/watching.h"

namespace chokepoint::capture::counter {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::SizeIs;

constexpr const char* kGpu = "0000:af:00.0";

TEST(GpuSession, TheDriversLibraryTellsWhatItKnows) {
  const auto session = GpuSession::open(CHOKEPOINT_FAKE_NVML);
  ASSERT_TRUE(session) << describe(session.error());
  const std::vector<GpuReading> gpus = (*session)->read();
  ASSERT_THAT(gpus, SizeIs(1));
  EXPECT_EQ(gpus[0].address, kGpu);
  EXPECT_EQ(gpus[0].busy_percent, 97);
  EXPECT_EQ(gpus[0].memory_busy_percent, 40);
  EXPECT_EQ(gpus[0].memory_bytes, 12e9);
  EXPECT_EQ(gpus[0].clock_mhz, 1200);
  EXPECT_EQ(gpus[0].max_clock_mhz, 1980);
  EXPECT_EQ(gpus[0].memory_clock_mhz, 2619);
  EXPECT_EQ(gpus[0].max_memory_clock_mhz, 2619);
  EXPECT_EQ(gpus[0].temperature_c, 71);
  EXPECT_EQ(gpus[0].power_w, 698.5);
  EXPECT_EQ(gpus[0].power_limit_w, 700);
  EXPECT_EQ(gpus[0].throttle_reasons, 4U);
  EXPECT_EQ(gpus[0].pcie_generation, 4);
  EXPECT_EQ(gpus[0].pcie_max_generation, 5);
  EXPECT_EQ(gpus[0].pcie_width, 16);
  EXPECT_EQ(gpus[0].pcie_max_width, 16);
  EXPECT_EQ(gpus[0].replays, std::nullopt) << "the fake GPU does not count them";
  EXPECT_THAT(gpus[0].pids, ElementsAre(4711, 4712));
}

TEST(GpuSession, ThroughputComesFromGpmWhereThereIsSuch) {
  const auto session = GpuSession::open(CHOKEPOINT_FAKE_NVML);
  ASSERT_TRUE(session);
  (*session)->read();
  const GpuReading gpu = (*session)->read().at(0);
  constexpr double kMib = 1 << 20;
  EXPECT_EQ(gpu.pcie_sent_bytes_per_s, 1000 * kMib);
  EXPECT_EQ(gpu.pcie_received_bytes_per_s, 2000 * kMib);
  EXPECT_EQ(gpu.nvlink_sent_bytes_per_s, 3000 * kMib);
  EXPECT_EQ(gpu.nvlink_received_bytes_per_s, std::nullopt) << "the fake GPU refuses it";
  EXPECT_EQ(gpu.kernels_percent, 26.5) << "beside the 97 % that count copies, too";
  EXPECT_EQ(gpu.busy_percent, 97);
}

TEST(GpuSession, NvlinksAreCountedTogether) {
  const auto session = GpuSession::open(CHOKEPOINT_FAKE_NVML);
  ASSERT_TRUE(session);
  const NvlinkReading nvlink = (*session)->read().at(0).nvlink;
  EXPECT_EQ(nvlink.active, 1);
  EXPECT_EQ(nvlink.sent_bytes, 1ULL << 43);
  EXPECT_EQ(nvlink.received_bytes, 139U * 1024) << "32 bits of it count";
  EXPECT_EQ(nvlink.crc_errors, 45U) << "of two counters the fake GPU has one";
  EXPECT_EQ(nvlink.replays, 52U);
  EXPECT_EQ(nvlink.recoveries, 59U);
}

TEST(GpuSession, EachGpuTellsWhatItHas) {
  setenv("FAKE_NVML_GPUS", "2", 1);
  const auto session = GpuSession::open(CHOKEPOINT_FAKE_NVML);
  unsetenv("FAKE_NVML_GPUS");
  ASSERT_TRUE(session);
  const std::vector<GpuReading> gpus = (*session)->read();
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(gpus[1].address, "0000:b0:00.0");
  EXPECT_EQ(gpus[1].nvlink.active, std::nullopt);
  EXPECT_EQ(gpus[1].nvlink.sent_bytes, std::nullopt);
  EXPECT_EQ(gpus[1].pcie_sent_bytes_per_s, 5e6) << "without GPM by the older call";
  EXPECT_EQ(gpus[1].pcie_received_bytes_per_s, 6e6);
  EXPECT_EQ(gpus[1].kernels_percent, std::nullopt);
}

TEST(GpuSession, WithoutALibraryThereIsAReason) {
  const auto session = GpuSession::open("libno-such-driver.so");
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind, ErrorKind::NotFound);
}

// Readings that a test hands out one by one, to whoever asks on another thread.
class ScriptedGpus {
 public:
  GpuWatch::Open opening() {
    return [this]() -> Result<std::unique_ptr<GpuSession>> {
      return std::make_unique<Session>(*this);
    };
  }
  void give(GpuReading reading) {
    std::unique_lock lock(mutex_);
    next_ = std::move(reading);
    changed_.notify_all();
    changed_.wait(lock, [&] { return !next_; });
  }
  void end() {
    const std::scoped_lock lock(mutex_);
    has_ended_ = true;
    changed_.notify_all();
  }

 private:
  class Session final : public GpuSession {
   public:
    explicit Session(ScriptedGpus& script) : script_(script) {}
    std::vector<GpuReading> read() override { return script_.take(); }

   private:
    ScriptedGpus& script_;
  };

  std::vector<GpuReading> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ || has_ended_; });
    std::vector<GpuReading> readings;
    if (next_) {
      readings.push_back(*std::exchange(next_, std::nullopt));
      changed_.notify_all();
    }
    return readings;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<GpuReading> next_;
  bool has_ended_ = false;
};

class GpuSamplerTest : public Watching {
 protected:
  // Gives a reading and samples until it has arrived.
  void pass(const std::unique_ptr<Sampler>& sampler, const GpuReading& reading) {
    script_.give(reading);
    Figures figures;
    const double wanted = *reading.busy_percent;
    while (figures.gpu_percent.value_or(-1) != wanted) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      sampler->sample({clock_.monotonic_ns(), processes_}, sink());
      sampler->report(figures);
    }
    clock_.advance(kSecond);
  }

  ScriptedGpus script_;
};

TEST_F(GpuSamplerTest, WhatAGpuDidAndForWhom) {
  processes_ = {{.pid = 4711}};
  {
    const std::unique_ptr<Sampler> sampler = gpu_sampler(
        std::make_unique<GpuWatch>(script_.opening(), std::chrono::milliseconds(1), clock_));
    pass(sampler, {.address = kGpu,
                   .busy_percent = 90,
                   .replays = 3,
                   .pcie_sent_bytes_per_s = 1e9,
                   .pids = {4711, 99}});
    pass(sampler, {.address = kGpu,
                   .busy_percent = 10,
                   .replays = 5,
                   .pcie_sent_bytes_per_s = 9e9,
                   .pids = {4711, 99}});
    script_.end();
  }
  close();
  EXPECT_THAT(gauges_.values("gpu.utilization_percent", kGpu), ElementsAre(90, 10));
  EXPECT_THAT(gauges_.values("gpu.pcie_sent_bytes_per_s", kGpu), ElementsAre(1e9, 9e9));
  EXPECT_THAT(counters_.values("gpu.pcie_replays", kGpu), ElementsAre(3, 5));
  EXPECT_THAT(kinds_of_events(), ElementsAre(std::string("gpu-process ") + kGpu));
  EXPECT_EQ(events_.at(0).detail, R"({"pid":4711})");
}

TEST_F(GpuSamplerTest, ALinkCountsWhileTheGpuIsAtWork) {
  {
    const std::unique_ptr<Sampler> sampler = gpu_sampler(
        std::make_unique<GpuWatch>(script_.opening(), std::chrono::milliseconds(1), clock_));
    pass(sampler, {.address = kGpu, .busy_percent = 0, .pcie_generation = 1, .pcie_width = 16});
    pass(sampler, {.address = kGpu,
                   .busy_percent = 95,
                   .pcie_generation = 4,
                   .pcie_width = 8,
                   .pcie_max_generation = 5,
                   .pcie_max_width = 16});
    // No kernel runs, but something is copied.
    pass(sampler, {.address = kGpu,
                   .busy_percent = 1,
                   .pcie_generation = 3,
                   .pcie_width = 8,
                   .pcie_sent_bytes_per_s = 1e9});
    script_.end();
  }
  close();
  EXPECT_THAT(gauges_.values("gpu.busy_pcie_generation", kGpu), ElementsAre(4, 3));
  EXPECT_THAT(gauges_.values("gpu.busy_pcie_width", kGpu), ElementsAre(8));
  EXPECT_THAT(gauges_.values("gpu.max_pcie_width", kGpu), ElementsAre(16));
}

TEST_F(GpuSamplerTest, WhatSlowsGpusDownIsTold) {
  const std::unique_ptr<Sampler> sampler = gpu_sampler(
      std::make_unique<GpuWatch>(script_.opening(), std::chrono::milliseconds(1), clock_));
  pass(sampler, {.address = kGpu, .busy_percent = 95, .throttle_reasons = 0x24});
  Figures figures;
  sampler->report(figures);
  EXPECT_EQ(figures.slowed_gpus.at("power-cap"), 1);
  EXPECT_EQ(figures.slowed_gpus.at("thermal"), 1);
  EXPECT_EQ(figures.slowed_gpus.at("power-brake"), 0);
  EXPECT_FALSE(figures.slowed_gpus.contains("idle"));
  script_.end();
}

class ThrottleLogTest : public Watching {
 protected:
  std::vector<std::string> details() {
    close();
    std::vector<std::string> details;
    for (const record::Event& event : events_) {
      EXPECT_EQ(event.kind, "gpu-throttled");
      EXPECT_EQ(event.subject, kGpu);
      details.push_back(event.detail);
    }
    return details;
  }
  ThrottleLog log_{kGpu};
};

TEST_F(ThrottleLogTest, EachReasonHasAStretchOfItsOwn) {
  for (int second = 1; second <= 12; ++second) {
    log_.see(second * kSecond, second < 4 ? 0x4U : second < 5 ? 0x24U : 0x0U, sink());
  }
  EXPECT_THAT(details(), ElementsAre(R"({"reason":"power-cap","state":"began"})",
                                     R"({"reason":"thermal","state":"began"})",
                                     R"({"reason":"power-cap","state":"ended","held_s":3.000})",
                                     R"({"reason":"thermal","state":"ended","held_s":1.000})"));
}

TEST_F(ThrottleLogTest, WhatComesAndGoesIsOneStretch) {
  for (int second = 1; second <= 200; ++second) {
    log_.see(second * kSecond, second % 2 == 0 ? 0x4U : 0U, sink());
  }
  EXPECT_THAT(details(), ElementsAre(R"({"reason":"power-cap","state":"began"})"));
}

TEST_F(ThrottleLogTest, IdleAndChosenClocksAreNoThrottling) {
  for (int second = 1; second <= 20; ++second) {
    log_.see(second * kSecond, 0x1 | 0x2 | 0x100, sink());
  }
  EXPECT_THAT(details(), testing::IsEmpty());
}

TEST_F(GpuSamplerTest, ADriverThatDoesNotAnswerDelaysNobody) {
  {
    const std::unique_ptr<Sampler> sampler = gpu_sampler(
        std::make_unique<GpuWatch>(script_.opening(), std::chrono::milliseconds(1), clock_));
    sample(sampler);
    sample(sampler);
    script_.end();
  }
  close();
  EXPECT_TRUE(series_.empty());
}

TEST_F(GpuSamplerTest, WhyThereAreNoGpusIsToldOnce) {
  const std::unique_ptr<Sampler> sampler = gpu_sampler(std::make_unique<GpuWatch>(
      [] { return GpuSession::open("libno-such-driver.so"); }, std::chrono::seconds(1), clock_));
  while (sink().remarks().empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    sample(sampler);
  }
  sample(sampler);
  EXPECT_THAT(sink().remarks(), SizeIs(1));
  EXPECT_THAT(sink().remarks().front(), testing::StartsWith("GPUs: "));
  close();
}

}  // namespace
}  // namespace chokepoint::capture::counter
