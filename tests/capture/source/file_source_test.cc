#include "capture/source/file_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/capture/source/reading.h"

namespace chokepoint::capture::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Batches = std::vector<std::vector<std::int64_t>>;

// Gives frames at these times, some a batch, of interfaces it learns of with the first of them.
class Scripted final : public Source {
 public:
  explicit Scripted(Batches batches, std::string failure = {})
      : batches_(std::move(batches)), failure_(std::move(failure)) {}

  Result<Progress> read(Batch& batch) override {
    batch.clear();
    if (next_ == batches_.size()) {
      return failure_.empty() ? Result<Progress>(Progress::End)
                              : fail(ErrorKind::Io, "read", failure_, "broken");
    }
    interfaces_.resize(std::max<std::size_t>(interfaces_.size(), next_ + 1));
    batch.bytes.assign(1, static_cast<std::uint8_t>('a' + next_));
    for (const std::int64_t time : batches_[next_]) {
      batch.frames.push_back({.time_ns = time,
                              .data = batch.bytes.data(),
                              .captured_bytes = 1,
                              .frame_bytes = 60,
                              .interface = static_cast<std::uint32_t>(next_)});
    }
    batch.drops.push_back({.time_ns = 1, .interface = static_cast<std::uint32_t>(next_)});
    ++next_;
    return Progress::More;
  }
  const std::vector<Interface>& interfaces() const override { return interfaces_; }
  std::vector<std::string> remarks() const override { return {"a remark"}; }

 private:
  Batches batches_;
  std::string failure_;
  std::size_t next_ = 0;
  std::vector<Interface> interfaces_;
};

template <class... Sources>
Reading merged(Sources... sources) {
  std::vector<std::unique_ptr<Source>> all;
  (all.push_back(std::make_unique<Scripted>(std::move(sources))), ...);
  return read_all(*merged_files(std::move(all)));
}

std::vector<std::int64_t> times(const Reading& reading) {
  std::vector<std::int64_t> all;
  for (const ReadFrame& frame : reading.frames) {
    all.push_back(frame.time_ns);
  }
  return all;
}

TEST(MergedFiles, FramesComeByTime) {
  EXPECT_THAT(times(merged(Scripted(Batches{{1, 4}, {7}}), Scripted(Batches{{2}, {}, {3, 9}}),
                           Scripted(Batches{{8}}))),
              ElementsAre(1, 2, 3, 4, 7, 8, 9));
}

TEST(MergedFiles, AFileWhoseClockStepsBackStaysInItsOrder) {
  EXPECT_THAT(times(merged(Scripted(Batches{{5, 1, 6}}), Scripted(Batches{{2, 7}}))),
              ElementsAre(2, 5, 1, 6, 7));
}

TEST(MergedFiles, EachKeepsItsInterfacesWhenTheyAreLearnt) {
  const Reading reading = merged(Scripted(Batches{{1}, {5}}), Scripted(Batches{{2}, {3}}));
  EXPECT_THAT(times(reading), ElementsAre(1, 2, 3, 5));
  std::vector<std::uint32_t> indexes;
  std::string bytes;
  for (const ReadFrame& frame : reading.frames) {
    indexes.push_back(frame.interface);
    bytes += frame.bytes;
  }
  EXPECT_EQ(bytes, "aabb");
  EXPECT_THAT(indexes, ElementsAre(0, 1, testing::AnyOf(2, 3), testing::AnyOf(2, 3)));
  EXPECT_NE(indexes[2], indexes[3]);
  EXPECT_EQ(reading.drops.size(), 4u);
  EXPECT_EQ(reading.remarks.size(), 2u);
}

TEST(MergedFiles, OneThatFailsDoesNotKeepTheOthersFromTheirEnd) {
  const Reading reading = merged(Scripted(Batches{{1}}, "one"), Scripted(Batches{{2}, {3}}));
  EXPECT_THAT(times(reading), ElementsAre(1, 2, 3));
  EXPECT_THAT(reading.error, HasSubstr("one: broken"));
}

TEST(MergedFiles, MoreThanABatchHoldsComesInSeveral) {
  std::vector<std::int64_t> even(kBatchFrames);
  std::ranges::generate(even, [time = std::int64_t{0}]() mutable { return time += 2; });
  std::vector<std::int64_t> odd = even;
  std::ranges::for_each(odd, [](std::int64_t& time) { --time; });
  const auto all = times(merged(Scripted(Batches{even}), Scripted(Batches{odd})));
  EXPECT_EQ(all.size(), 2 * kBatchFrames);
  EXPECT_TRUE(std::ranges::is_sorted(all));
}

}  // namespace
}  // namespace chokepoint::capture::source
