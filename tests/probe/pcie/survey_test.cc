#include "probe/pcie/survey.h"

#include <gmock/gmock.h>

#include "probe/pcie/findings.h"
#include "tests/base/gpu/fake_driver.h"
#include "tests/fakes/host_tree.h"
#include "tests/probe/pcie/rates.h"

namespace chokepoint::probe::pcie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two GPUs of a host of two sockets, one on each; memory of the far node is made up.
class SurveyTest : public gpu::FakeDriver {
 protected:
  void SetUp() override {
    set("FAKE_CUDA_GPUS", "2");
    set("FAKE_CUDA_RATES", "to=50000,from=52000,pageable=9000,far=31000,peer=48000,staged=7000");
    pace_.bytes = 64 << 10;
    pace_.time = std::chrono::microseconds(100);
    host_.driver = CHOKEPOINT_FAKE_CUDA;
    host_.nvml = CHOKEPOINT_FAKE_NVML;
    host_.root = tree_.root();
    host_.on_step = [this](const std::string& what) { steps_.push_back(what); };
    host_.take_pages = [this](std::uint64_t bytes, const std::optional<Node>& node) {
      asked_.push_back(node ? node->number : -1);
      auto pages = sys::Pages::map(bytes, {});
      if (pages && node && node->number == 1) {
        library_->function<void(const void*, std::size_t)>("fake_cuda_far")(pages->data(), bytes);
      }
      return pages;
    };
  }

  fakes::HostTree tree_ = fakes::HostTree::from_fixture("pcie-two-sockets");
  SurveyContext host_;
  Pace pace_;
  std::vector<std::string> steps_;
  std::vector<int> asked_;
};

TEST_F(SurveyTest, MeasuresEveryGpuFromNearAndFarAndEveryPair) {
  const auto measured = survey(host_, {}, pace_);
  ASSERT_TRUE(measured) << describe(measured.error());
  ASSERT_EQ(measured->gpus.size(), 2U);
  const GpuOutcome& gpu = measured->gpus[0];
  EXPECT_EQ(gpu.address, "0000:af:00.0");
  EXPECT_EQ(gpu.near_node, 0);
  EXPECT_EQ(gpu.far_node, 1);
  EXPECT_NEAR(*gpu.pinned.to_gpu_mbps, 50000 * kMegabyte, 1);
  EXPECT_NEAR(*gpu.pinned.from_gpu_mbps, 52000 * kMegabyte, 1);
  EXPECT_NEAR(*gpu.far.to_gpu_mbps, 31000 * kMegabyte, 1);
  EXPECT_NEAR(*gpu.pageable.to_gpu_mbps, 9000 * kMegabyte, 1);
  EXPECT_TRUE(gpu.two_streams_mbps);
  EXPECT_EQ(gpu.engines, 2);
  EXPECT_THAT(gpu.problems, IsEmpty());
  EXPECT_THAT(gpu.wrong, IsEmpty());
  EXPECT_EQ(gpu.verified_bytes, 12 * pace_.bytes);
  EXPECT_EQ(measured->gpus[1].near_node, 1);
  EXPECT_EQ(measured->gpus[1].far_node, 0);
  EXPECT_FALSE(measured->interrupted);
  ASSERT_EQ(measured->peers.size(), 1U);
  const PeerOutcome& peers = measured->peers[0];
  EXPECT_EQ(peers.reachable, true);
  EXPECT_NEAR(*peers.direct.there_mbps, 48000 * kMegabyte, 1);
  EXPECT_NEAR(*peers.staged.back_mbps, 7000 * kMegabyte, 1);
  EXPECT_NEAR(*peers.direct.both_mbps, 96000 * kMegabyte, 2);
  EXPECT_EQ(peers.verified_bytes, 8 * pace_.bytes);
}

TEST_F(SurveyTest, MemoryIsTakenOnTheNodeThatIsMeant) {
  ASSERT_TRUE(survey(host_, {.gpus = {"0"}, .peers = false}, pace_));
  EXPECT_THAT(asked_, ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_THAT(steps_, ElementsAre("GPU 0: pinned memory", "GPU 0: pageable memory",
                                  "GPU 0: memory of another NUMA node"));
}

TEST_F(SurveyTest, OneGpuIsMeantByNumberOrAddress) {
  for (const char* name : {"1", "0000:b0:00.0", "00000000:B0:00.0", "b0:00.0"}) {
    const auto measured = survey(host_, {.gpus = {name}}, pace_);
    ASSERT_TRUE(measured);
    ASSERT_EQ(measured->gpus.size(), 1U);
    EXPECT_EQ(measured->gpus[0].number, 1);
    EXPECT_THAT(measured->peers, IsEmpty());
  }
}

TEST_F(SurveyTest, AGpuThatIsNotThereIsAnError) {
  EXPECT_EQ(gpu::error_of(survey(host_, {.gpus = {"0", "7"}}, pace_)),
            "GPU 7: no such GPU; 'nvidia-smi -L' lists this host's GPUs; CUDA_VISIBLE_DEVICES may "
            "hide some");
}

TEST_F(SurveyTest, AGpuThatFailsToOpenHidesNoneThatIsNotThere) {
  set("FAKE_CUDA_FAIL", "6");  // GPU 0's context
  EXPECT_FALSE(survey(host_, {.gpus = {"0", "7"}}, pace_));
}

TEST_F(SurveyTest, AGpuThatNobodyAskedForStaysClosed) {
  set("FAKE_CUDA_FAIL", "4");  // the first that is opened
  const auto measured = survey(host_, {.gpus = {"1"}, .peers = false}, pace_);
  ASSERT_TRUE(measured);
  ASSERT_EQ(measured->gpus.size(), 1U);
  EXPECT_THAT(measured->gpus[0].problems, testing::Not(IsEmpty()));
}

TEST_F(SurveyTest, WithoutADriverNothingIsMeasuredAndTheReasonKept) {
  host_.driver = "libcuda-of-nowhere.so.1";
  const auto measured = survey(host_, {}, pace_);
  ASSERT_TRUE(measured);
  EXPECT_TRUE(measured->problem);
  EXPECT_THAT(measured->gpus, IsEmpty());
  EXPECT_FALSE(survey(host_, {.gpus = {"0"}}, pace_));
}

TEST_F(SurveyTest, GpusThatDoNotReachEachOtherCopyThroughTheHost) {
  set("FAKE_CUDA", "peers");
  const auto measured = survey(host_, {}, pace_);
  ASSERT_TRUE(measured);
  const PeerOutcome& peers = measured->peers[0];
  EXPECT_EQ(peers.reachable, false);
  EXPECT_TRUE(peers.staged.both_mbps);
  EXPECT_FALSE(peers.direct.there_mbps);
}

TEST_F(SurveyTest, MemoryThatCannotBeHadIsAProblemOfThatMeasurementAlone) {
  host_.take_pages = [](std::uint64_t bytes, const std::optional<Node>& node) {
    return node && node->number == 1
               ? Result<sys::Pages>(fail(ErrorKind::Exhausted, "allocate memory", "NUMA node 1",
                                         "cannot allocate memory"))
               : sys::Pages::map(bytes, {});
  };
  const auto measured = survey(host_, {.gpus = {"0"}}, pace_);
  ASSERT_TRUE(measured);
  EXPECT_TRUE(measured->gpus[0].pinned.both_mbps);
  EXPECT_TRUE(measured->gpus[0].pageable.both_mbps);
  EXPECT_FALSE(measured->gpus[0].far.to_gpu_mbps);
  EXPECT_THAT(measured->gpus[0].problems,
              ElementsAre("far memory: allocate memory: NUMA node 1: cannot allocate memory"));
}

TEST_F(SurveyTest, WhereTheOwnNodesMemoryCannotBeHadOtherIsCopied) {
  host_.take_pages = [](std::uint64_t bytes, const std::optional<Node>& node) {
    return node ? Result<sys::Pages>(fail(ErrorKind::Permission, "allocate memory", "NUMA node",
                                          "operation not permitted"))
                : sys::Pages::map(bytes, {});
  };
  const auto measured = survey(host_, {.gpus = {"0"}}, pace_);
  ASSERT_TRUE(measured);
  const GpuOutcome& gpu = measured->gpus[0];
  EXPECT_TRUE(gpu.anywhere);
  EXPECT_TRUE(gpu.pinned.both_mbps);
  EXPECT_TRUE(gpu.pageable.both_mbps);
  EXPECT_FALSE(gpu.far.to_gpu_mbps);
  EXPECT_THAT(
      gpu.problems,
      ElementsAre("memory of the GPU's own NUMA node: allocate memory: NUMA node: operation "
                  "not permitted",
                  "far memory: allocate memory: NUMA node: operation not permitted"));
}

TEST_F(SurveyTest, NoMemoryOnAGpuIsAProblemOfItAndNoError) {
  set("FAKE_CUDA", "memory");
  const auto measured = survey(host_, {}, pace_);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->gpus.size(), 2U);
  EXPECT_EQ(measured->gpus[0].problems.size(), 1U);
  EXPECT_EQ(measured->peers[0].problems.size(), 1U);
}

TEST_F(SurveyTest, AFlippedByteIsToldOfGpusAndOfPairs) {
  set("FAKE_CUDA_FLIP", "1");
  const auto measured = survey(host_, {}, pace_);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->gpus[0].wrong.size(), 6U);
  EXPECT_EQ(measured->peers[0].wrong.size(), 8U);
}

TEST_F(SurveyTest, AStopKeepsWhatWasMeasured) {
  bool stop = false;
  pace_.stopped = [&] { return stop; };
  host_.on_step = [&](const std::string& what) { stop = stop || what == "GPU 1: pageable memory"; };
  const auto measured = survey(host_, {}, pace_);
  ASSERT_TRUE(measured);
  EXPECT_TRUE(measured->interrupted);
  ASSERT_EQ(measured->gpus.size(), 2U);
  EXPECT_TRUE(measured->gpus[0].far.both_mbps);
  EXPECT_TRUE(measured->gpus[1].pinned.both_mbps);
  EXPECT_FALSE(measured->gpus[1].pageable.to_gpu_mbps);
  EXPECT_THAT(measured->gpus[1].problems, IsEmpty());
  EXPECT_THAT(measured->peers, IsEmpty());
}

TEST_F(SurveyTest, TheLinkUnderLoadIsWhatCounts) {
  set("FAKE_NVML_GENERATIONS", "1,5");
  set("FAKE_CUDA_NAP_US", "30000");
  const auto measured = survey(host_, {.gpus = {"0"}}, pace_);
  ASSERT_TRUE(measured);
  const LinkSeen& link = measured->gpus[0].link;
  EXPECT_EQ(link.idle.speed_gts, 2.5);
  EXPECT_EQ(link.best.speed_gts, 32);
  EXPECT_GT(link.looks, 0);
  const Slots slots = read_slots(tree_.root(), host::read_recorded_gpus(tree_.root()));
  const auto ceiling = ceiling_of(slots.devices[0], &measured->gpus[0]);
  ASSERT_TRUE(ceiling);
  EXPECT_NEAR(ceiling->mbps, 57.6 * 8000, 200);
}

TEST_F(SurveyTest, EveryFailureOfTheDriverIsToldAndLeavesNothing) {
  pace_.time = std::chrono::nanoseconds(1);
  int steps = 0;
  for (int call = 1; call <= 700; call += 7) {
    set("FAKE_CUDA_FAIL", std::to_string(call));
    const auto measured = survey(host_, {}, pace_);
    bool failed = !measured || measured->problem;
    if (measured) {
      for (const GpuOutcome& gpu : measured->gpus) {
        failed = failed || !gpu.problems.empty();
      }
      for (const PeerOutcome& peers : measured->peers) {
        failed = failed || !peers.problems.empty();
      }
    }
    steps += failed ? 1 : 0;
  }
  EXPECT_GT(steps, 80);
}

TEST(FittingBytes, AreNoMoreThanTheGpuAndTheHostHaveRoomFor) {
  const auto driver = gpu::Driver::open(CHOKEPOINT_FAKE_CUDA);
  ASSERT_TRUE(driver);
  const auto gpu = gpu::Cuda::open(*driver, 0);
  ASSERT_TRUE(gpu);
  const auto tree = fakes::HostTree::from_text("/proc/meminfo = MemAvailable: 8192 kB\n");
  EXPECT_EQ(fitting_bytes(**gpu, tree.root(), 512 << 20), std::uint64_t{1} << 20);
  EXPECT_EQ(fitting_bytes(**gpu, tree.root(), 5000), 4096U);
  const auto container = fakes::HostTree::from_text(
      "/proc/meminfo = MemAvailable: 8192 kB\n"
      "/proc/self/cgroup = 0::/\n"
      "/sys/fs/cgroup/memory.max = 4194304\n"
      "/sys/fs/cgroup/memory.current = 0\n");
  EXPECT_EQ(fitting_bytes(**gpu, container.root(), 512 << 20), std::uint64_t{512} << 10);
  const auto full = fakes::HostTree::from_text(
      "/sys/devices/system/node/node1/meminfo = Node 1 MemFree: 1024 kB\n");
  EXPECT_EQ(fitting_bytes(**gpu, full.root(), 512 << 20, {0, 1}), std::uint64_t{256} << 10);
  EXPECT_EQ(fitting_bytes(**gpu, full.root(), 512 << 20, {0}), std::uint64_t{512} << 20);
  const auto unknown = fakes::HostTree::from_text("/proc/empty/\n");
  EXPECT_EQ(fitting_bytes(**gpu, unknown.root(), std::uint64_t{64} << 30),
            (std::uint64_t{8} << 30) / 3 / 4096 * 4096);
}

TEST(HostMemory, ThisThreadGoesBackToItsProcessors) {
  const auto before = allowed_cpus();
  ASSERT_FALSE(before.empty());
  {
    const OnCpus moved({before.front()});
    EXPECT_TRUE(moved.moved());
    EXPECT_THAT(allowed_cpus(), ElementsAre(before.front()));
  }
  EXPECT_EQ(allowed_cpus(), before);
  const OnCpus nowhere({-1, 100'000});
  EXPECT_FALSE(nowhere.moved());
}

TEST(HostMemory, NodesWithoutProcessorsAreLeftOut) {
  host::Memory memory;
  memory.nodes = {{.name = "node0", .cpus = "0-3", .memory_bytes = 1 << 30},
                  {.name = "node1", .cpus = "", .memory_bytes = 1 << 30},
                  {.name = "node2", .cpus = "4", .memory_bytes = 0},
                  {.name = "strange", .cpus = "5", .memory_bytes = 1}};
  const auto nodes = nodes_of(memory);
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_THAT(nodes[0].cpus, ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace chokepoint::probe::pcie
