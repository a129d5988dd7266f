// The record on a disk that fills up: a small tmpfs, made in a mount of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/record/opening.h"
#include "base/record/reader.h"
#include "base/record/writer.h"

namespace chokepoint::record {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

class DiskFull : public testing::Test {
 protected:
  void SetUp() override {
    if (mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=4m") != 0) {
      GTEST_SKIP() << "cannot mount a tmpfs to fill: " << std::strerror(errno);
    }
    is_mounted_ = true;
  }
  void TearDown() override {
    if (is_mounted_) {
      umount2(folder_.path().c_str(), MNT_DETACH);
    }
  }

  std::unique_ptr<Writer> open_writer() {
    WriterOptions options{.folder = folder_.path() / "run", .node = "n1"};
    options.limits.queue_bytes = 256 << 10;
    options.limits.retry_interval = 100ms;
    auto writer = Writer::open(options, sys::Root("/"), clock_);
    EXPECT_TRUE(writer) << describe(writer.error());
    return std::move(*writer);
  }
  fs::path file() const { return folder_.path() / "run" / "n1.db"; }
  fs::path ballast() const { return folder_.path() / "ballast"; }

  void fill() const {
    std::ofstream file(ballast(), std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), 4096).flush()) {
    }
  }

  // Each push is numbered by its value; what is refused is counted as the job would see it: at
  // once.
  bool push(Producer& producer) {
    const bool is_taken = producer.push(CounterSample{
        .t_ns = clock_.monotonic_ns(), .series = 1, .value = static_cast<double>(++pushed_)});
    refused_ += is_taken ? 0 : 1;
    return is_taken;
  }

  void push_for(Producer& producer, std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      for (int count = 0; count < 100; ++count) {
        push(producer);
      }
      std::this_thread::sleep_for(1ms);
    }
  }

  template <class F>
  static bool wait_until(F&& is_so) {
    for (int left = 1000; left > 0 && !is_so(); --left) {
      std::this_thread::sleep_for(10ms);
    }
    return is_so();
  }

  std::int64_t readable_rows() const {
    auto reader = Reader::open(file());
    EXPECT_TRUE(reader) << describe(reader.error());
    return reader ? reader->count<CounterSample>().value_or(-1) : -1;
  }

  PrivateFolder folder_ = std::move(*PrivateFolder::make());
  bool is_mounted_ = false;
  sys::SystemClock clock_;
  std::int64_t pushed_ = 0;
  std::uint64_t refused_ = 0;
};

TEST_F(DiskFull, KeepsWhatItHasAndGoesOnWhenThereIsRoom) {
  auto writer = open_writer();
  {
    Producer producer = writer->producer("counters");
    push_for(producer, 100ms);
    ASSERT_TRUE(wait_until([&] { return writer->status().rows > 0; }));

    fill();
    push_for(producer, 1500ms);
    ASSERT_TRUE(wait_until([&] {
      push_for(producer, 10ms);
      return writer->status().trouble.has_value() && writer->status().dropped > 0;
    }));
    EXPECT_EQ(writer->status().trouble->kind, ErrorKind::Exhausted);
    EXPECT_GT(readable_rows(), 0);

    fs::remove(ballast());
    ASSERT_TRUE(wait_until([&] { return !writer->status().trouble; }));
    push_for(producer, 100ms);
  }
  const WriterStatus status = writer->close();
  EXPECT_FALSE(status.trouble);
  EXPECT_EQ(status.dropped, refused_);
  EXPECT_EQ(readable_rows(), pushed_ - static_cast<std::int64_t>(refused_))
      << "what was taken is there";

  auto reader = Reader::open(file());
  const auto events = reader->all<Event>();
  const auto event = std::ranges::find_if(
      *events, [](const Event& row) { return row.detail.find("disk-full") != std::string::npos; });
  ASSERT_NE(event, events->end());
  EXPECT_EQ(event->kind, "dropped");
  EXPECT_EQ(event->subject, "counters");
  EXPECT_THAT(event->detail, HasSubstr("until_ns"));
}

TEST_F(DiskFull, NoPushEverWaitsForTheDisk) {
  auto writer = open_writer();
  Producer producer = writer->producer("counters");
  fill();
  // Were a push to wait, it would wait for room, and there is none before all have been tried.
  for (int count = 0; count < 200'000; ++count) {
    push(producer);
  }
  EXPECT_GT(refused_, 0U);
  EXPECT_TRUE(fs::exists(ballast()));
}

TEST_F(DiskFull, ClosingOnAFullDiskSaysWhatIsMissing) {
  auto writer = open_writer();
  {
    Producer producer = writer->producer("counters");
    push_for(producer, 50ms);
    ASSERT_TRUE(wait_until([&] { return writer->status().rows > 0; }));
    fill();
    push_for(producer, 1500ms);
  }
  const WriterStatus status = writer->close(0);
  ASSERT_TRUE(status.trouble);
  EXPECT_THAT(describe(*status.trouble), HasSubstr("n1.db"));
  EXPECT_GT(status.dropped, 0U);
  EXPECT_GE(readable_rows() + static_cast<std::int64_t>(status.dropped), pushed_);
}

TEST_F(DiskFull, OpeningOnAFullDiskIsAnErrorInOneLine) {
  fs::create_directories(folder_.path() / "run");
  fill();
  const auto writer =
      Writer::open({.folder = folder_.path() / "run", .node = "n1"}, sys::Root("/"), clock_);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().kind, ErrorKind::Exhausted);
  EXPECT_THAT(describe(writer.error()), HasSubstr("n1.db"));
}

}  // namespace
}  // namespace chokepoint::record
