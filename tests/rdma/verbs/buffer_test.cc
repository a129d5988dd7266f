#include "rdma/verbs/buffer.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>

#include "base/sys/pages.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::rdma::verbs {
namespace {

TEST(HostBuffer, StartsAtAPageAndHoldsWhatIsWritten) {
  const auto buffer = host_buffer(100'000, {});
  ASSERT_TRUE(buffer) << describe(buffer.error());
  EXPECT_EQ((*buffer)->view().address % 4096, 0U);
  EXPECT_EQ((*buffer)->view().bytes, 100'000U);
  EXPECT_EQ((*buffer)->view().dmabuf, std::nullopt);
  const std::array<std::byte, 2> written{std::byte{7}, std::byte{9}};
  std::array<std::byte, 2> found{};
  ASSERT_TRUE((*buffer)->write(99'998, written));
  ASSERT_TRUE((*buffer)->read(99'998, found));
  EXPECT_EQ(found, written);
  EXPECT_EQ((*buffer)->host()[99'999], std::byte{9});
}

TEST(HostBuffer, NothingIsReachedOutside) {
  const auto buffer = host_buffer(10, {});
  ASSERT_TRUE(buffer);
  std::array<std::byte, 2> two{};
  EXPECT_FALSE((*buffer)->write(9, two));
  EXPECT_FALSE((*buffer)->read(11, two));
  EXPECT_FALSE((*buffer)->read(~std::uint64_t{0}, two));
  EXPECT_TRUE((*buffer)->read(8, two));
}

TEST(HostBuffer, SaysWhatItIs) {
  const auto buffer = host_buffer(std::uint64_t{2} << 20, {});
  ASSERT_TRUE(buffer);
  EXPECT_EQ((*buffer)->describe(), "2 MiB");
}

TEST(HostBuffer, ANodeOfItsOwnOrAReason) {
  const auto buffer = host_buffer(4096, {.numa_node = 0});
  if (buffer) {
    EXPECT_EQ((*buffer)->describe(), "4 KiB on NUMA node 0");
  } else {
    EXPECT_EQ(buffer.error().subject, "NUMA node 0");
    EXPECT_NE(buffer.error().code, 0);
  }
}

TEST(HostBuffer, ANodeThatIsNotThereIsAnError) {
  EXPECT_FALSE(host_buffer(4096, {.numa_node = -1}));
  EXPECT_FALSE(host_buffer(4096, {.numa_node = 1000}));
  const auto buffer = host_buffer(4096, {.numa_node = 5000});
  ASSERT_FALSE(buffer);
  EXPECT_EQ(describe(buffer.error()),
            "allocate memory: NUMA node 5000: no such NUMA node; 'lscpu' lists this host's");
}

TEST(HostBuffer, MoreHugePagesThanAnyHostHasAreAnErrorThatSaysHowMany) {
  const auto buffer = host_buffer(std::uint64_t{1} << 44, {.pages = Pages::Huge});
  ASSERT_FALSE(buffer);
  EXPECT_EQ(
      describe(buffer.error()),
      "allocate memory: 16777216 MiB of huge pages: 8388608 free huge pages of 2 MiB are "
      "needed; as root: echo 8388608 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages, "
      "or more where others use some");
}

TEST(Words, SizesAreWholeUnits) {
  EXPECT_EQ(sys::size_words(1000), "1000 bytes");
  EXPECT_EQ(sys::size_words(4096), "4 KiB");
  EXPECT_EQ(sys::size_words(1 << 20), "1 MiB");
  EXPECT_EQ(sys::size_words((1 << 20) + 1024), "1025 KiB");
}

constexpr std::string_view kPeerMemory = "/sys/module/nvidia_peermem/\n";

class GpuBuffer : public testing::Test {
 protected:
  void TearDown() override { unsetenv("FAKE_CUDA"); }

  static Result<std::unique_ptr<Buffer>> make(std::string_view tree, GpuOptions options = {},
                                              const char* lacks = nullptr) {
    if (lacks != nullptr) {
      setenv("FAKE_CUDA", lacks, 1);
    }
    const auto host = fakes::HostTree::from_text(tree);
    return gpu_buffer_in({.driver = CHOKEPOINT_FAKE_CUDA, .root = host.root()}, 100'000, options);
  }
  static std::string error_of(const Result<std::unique_ptr<Buffer>>& buffer) {
    return buffer ? "none" : describe(buffer.error());
  }
};

TEST_F(GpuBuffer, IsSharedByDmaBuf) {
  const auto buffer = make("");
  ASSERT_TRUE(buffer) << describe(buffer.error());
  const auto view = (*buffer)->view();
  EXPECT_EQ((*buffer)->describe(), "100000 bytes on GPU 0 (NVIDIA H200) by dma-buf");
  EXPECT_EQ(view.bytes, 100'000U);
  EXPECT_EQ(view.dmabuf_offset, 0U);
  ASSERT_TRUE(view.dmabuf);
  EXPECT_NE(fcntl(*view.dmabuf, F_GETFD), -1);
}

TEST_F(GpuBuffer, ClosesItsDescriptor) {
  int fd = -1;
  {
    const auto buffer = make("");
    ASSERT_TRUE(buffer);
    fd = *(*buffer)->view().dmabuf;
  }
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

TEST_F(GpuBuffer, IsReachedByCopies) {
  const auto buffer = make("");
  ASSERT_TRUE(buffer);
  EXPECT_EQ((*buffer)->host(), nullptr);
  const std::array<std::byte, 3> written{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 3> found{};
  ASSERT_TRUE((*buffer)->write(99'997, written));
  ASSERT_TRUE((*buffer)->read(99'997, found));
  EXPECT_EQ(found, written);
  EXPECT_FALSE((*buffer)->write(99'998, written));
  EXPECT_FALSE((*buffer)->read(~std::uint64_t{0}, found));
}

TEST_F(GpuBuffer, TakesPeerMemoryWhereDmaBufIsNotThere) {
  const auto buffer = make(kPeerMemory, {}, "dmabuf");
  ASSERT_TRUE(buffer) << describe(buffer.error());
  EXPECT_EQ((*buffer)->view().dmabuf, std::nullopt);
  EXPECT_EQ((*buffer)->describe(), "100000 bytes on GPU 0 (NVIDIA H200) by nvidia-peermem");
}

TEST_F(GpuBuffer, TakesPeerMemoryWhereItIsAskedFor) {
  const auto buffer = make(kPeerMemory, {.path = GpuPath::PeerMemory});
  ASSERT_TRUE(buffer);
  EXPECT_EQ((*buffer)->view().dmabuf, std::nullopt);
}

TEST_F(GpuBuffer, SaysWhatToLoadWhereNeitherIsThere) {
  EXPECT_EQ(error_of(make("", {}, "dmabuf")),
            "CUDA: share memory by dma-buf: GPU 0 (NVIDIA H200): operation not supported; dma-buf "
            "wants NVIDIA's open kernel modules and Linux 5.12; or nvidia-peermem instead, as "
            "root: modprobe nvidia-peermem");
  EXPECT_EQ(error_of(make("", {.path = GpuPath::PeerMemory})),
            "share GPU memory: GPU 0 (NVIDIA H200): nvidia-peermem is not loaded; as root: "
            "modprobe nvidia-peermem");
}

TEST_F(GpuBuffer, DoesNotTakePeerMemoryWhereDmaBufIsAskedFor) {
  const auto buffer = make(kPeerMemory, {.path = GpuPath::DmaBuf}, "dmabuf");
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().kind, ErrorKind::Unsupported);
}

TEST_F(GpuBuffer, SaysWhichGpusThereAre) {
  EXPECT_EQ(error_of(make("", {.gpu = 3})),
            "CUDA: GPU 3: this host has GPU 0 only; 'nvidia-smi -L' lists this host's GPUs; "
            "CUDA_VISIBLE_DEVICES may hide some");
  EXPECT_EQ(error_of(make("", {.gpu = -1})),
            "CUDA: GPU -1: this host has GPU 0 only; 'nvidia-smi -L' lists this host's GPUs; "
            "CUDA_VISIBLE_DEVICES may hide some");
  EXPECT_EQ(error_of(make("", {}, "gpus")),
            "CUDA: start CUDA: " CHOKEPOINT_FAKE_CUDA
            ": no CUDA-capable device is detected; 'nvidia-smi -L' lists this host's GPUs; "
            "CUDA_VISIBLE_DEVICES may hide some, or test with host memory");
}

TEST_F(GpuBuffer, SaysThatItsMemoryIsFull) {
  EXPECT_EQ(error_of(make("", {}, "memory")),
            "CUDA: allocate memory: GPU 0 (NVIDIA H200): out of memory; a smaller buffer, or "
            "another GPU; 'nvidia-smi' shows who holds the memory");
}

TEST_F(GpuBuffer, SaysThatThereIsNoDriver) {
  const auto buffer = gpu_buffer_in({.driver = "libcuda-of-nowhere.so.1"}, 1, {});
  EXPECT_EQ(error_of(buffer),
            "CUDA: libcuda-of-nowhere.so.1: the GPU driver is not on this host; install NVIDIA's "
            "driver, or test with host memory");
}

}  // namespace

}  // namespace chokepoint::rdma::verbs
