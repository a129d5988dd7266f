#include <gmock/gmock.h>

#include <array>

#include "rdma/memory/buffer.h"
#include "rdma/memory/words.h"

namespace chokepoint::rdma::memory {
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
  EXPECT_EQ(describe(buffer.error()),
            "allocate memory: 16777216 MiB of huge pages: 8388608 free huge pages of 2 MiB are "
            "needed; as root: sysctl vm.nr_hugepages=8388608, or more where others use some");
}

TEST(Words, SizesAreWholeUnits) {
  EXPECT_EQ(size_words(1000), "1000 bytes");
  EXPECT_EQ(size_words(4096), "4 KiB");
  EXPECT_EQ(size_words(1 << 20), "1 MiB");
  EXPECT_EQ(size_words((1 << 20) + 1024), "1025 KiB");
}

}  // namespace
}  // namespace chokepoint::rdma::memory
