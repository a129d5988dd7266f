#include "base/gpu/stream.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/gpu/pinned.h"
#include "tests/base/gpu/fake_driver.h"

namespace chokepoint::gpu {
namespace {

constexpr std::uint64_t kBytes = 1'000'000;

class StreamTest : public FakeDriver {
 protected:
  void SetUp() override { set("FAKE_CUDA_GPUS", "2"); }

  // The milliseconds that `work` takes on the stream.
  template <class Work>
  static double time_of(const Stream& stream, Work work) {
    const auto start = Event::make(stream.gpu());
    const auto end = Event::make(stream.gpu());
    const bool done = start && end && stream.record(*start) && work() && stream.record(*end) &&
                      end->finish() && end->is_over() == true;
    return done ? end->milliseconds_since(*start).value_or(-1) : -1;
  }
};

TEST_F(StreamTest, CopiesThereAndBackAndTellsHowLongItTook) {
  set("FAKE_CUDA_RATES", "to=50000,from=25000");
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  const auto stream = Stream::make(**gpu);
  const auto memory = Memory::allocate(**gpu, kBytes);
  const auto host = PinnedMemory::allocate(**gpu, kBytes);
  const auto back = PinnedMemory::allocate(**gpu, kBytes);
  ASSERT_TRUE(stream && memory && host && back);
  const auto out = host->bytes().first(kBytes);
  const auto in = back->bytes().first(kBytes);
  std::memset(out.data(), 77, out.size());
  const auto to = [&] { return stream->to_gpu(memory->address(), out).has_value(); };
  const auto from = [&] { return stream->from_gpu(in, memory->address()).has_value(); };
  EXPECT_NEAR(time_of(*stream, to), 0.02, 1e-6);
  EXPECT_NEAR(time_of(*stream, from), 0.04, 1e-6);
  EXPECT_EQ(std::memcmp(out.data(), in.data(), kBytes), 0);
}

TEST_F(StreamTest, FillsMemory) {
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  const auto stream = Stream::make(**gpu);
  const auto one = Memory::allocate(**gpu, 4096);
  ASSERT_TRUE(stream && one);
  ASSERT_TRUE(stream->fill(one->address(), 0x01020304, 1024));
  ASSERT_TRUE(stream->finish());
  std::array<std::byte, 4> last{};
  ASSERT_TRUE((*gpu)->read(one->address() + 4092, last));
  EXPECT_EQ(last, (std::array{std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}}));
}

TEST_F(StreamTest, CopiesBetweenGpusFasterWhereOneReachesTheOther) {
  const auto one = open(0);
  const auto other = open(1);
  ASSERT_TRUE(one && other);
  const auto stream = Stream::make(**one);
  const auto from = Memory::allocate(**one, kBytes);
  const auto to = Memory::allocate(**other, kBytes);
  ASSERT_TRUE(stream && from && to);
  ASSERT_TRUE(stream->fill(from->address(), 7, kBytes / 4));
  const auto copy = [&] {
    return stream->between(**other, to->address(), **one, from->address(), kBytes).has_value();
  };
  EXPECT_NEAR(time_of(*stream, copy), 1.0 / 6, 1e-6);
  ASSERT_TRUE((*one)->reach(**other, true));
  EXPECT_NEAR(time_of(*stream, copy), 0.025, 1e-6);
  ASSERT_TRUE((*one)->reach(**other, false));
  std::array<std::byte, 1> found{};
  ASSERT_TRUE((*other)->read(to->address(), found));
  EXPECT_EQ(found[0], std::byte{7});
}

TEST_F(StreamTest, OneWaitsForWhatAnotherRecorded) {
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  const auto one = Stream::make(**gpu);
  const auto other = Stream::make(**gpu);
  const auto memory = Memory::allocate(**gpu, kBytes);
  const auto host = PinnedMemory::allocate(**gpu, kBytes);
  const auto event = Event::make(**gpu);
  ASSERT_TRUE(one && other && memory && host && event);
  const double waited = time_of(*other, [&] {
    return one->to_gpu(memory->address(), host->bytes().first(kBytes)) && one->record(*event) &&
           other->wait_for(*event);
  });
  EXPECT_NEAR(waited, 0.02, 1e-6);
}

TEST_F(StreamTest, EventsThatWereNotRecordedTellNoTime) {
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  const auto start = Event::make(**gpu);
  const auto end = Event::make(**gpu);
  ASSERT_TRUE(start && end);
  EXPECT_FALSE(end->milliseconds_since(*start));
}

TEST_F(StreamTest, AFailureNamesWhatFailed) {
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  const auto stream = Stream::make(**gpu);
  const auto memory = Memory::allocate(**gpu, 4096);
  ASSERT_TRUE(stream && memory);
  set("FAKE_CUDA_FAIL", "2");
  EXPECT_EQ(error_of(stream->fill(memory->address(), 1, 1)),
            "CUDA: fill memory: GPU 0 (NVIDIA H200): unknown error; 'nvidia-smi' and 'dmesg' may "
            "tell more");
}

}  // namespace
}  // namespace chokepoint::gpu
