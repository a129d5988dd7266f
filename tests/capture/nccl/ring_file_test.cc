#include "capture/nccl/ring_file.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/record/opening.h"
#include "tests/capture/nccl/ring_writer.h"

namespace chokepoint::capture::nccl {
namespace {

using testing::ElementsAre;

class RingFileTest : public testing::Test {
 protected:
  void push(std::uint64_t id, std::size_t ring = 0) {
    writer_.push(ring, Kind::Collective, 3, {{word::kId, id}});
  }
  FileState read() {
    return reader_.read([this](const Entry& entry) { seen_.push_back(entry.at(word::kId)); });
  }

  record::PrivateFolder folder_ = std::move(*record::PrivateFolder::make());
  std::filesystem::path path_ = folder_.path() / "1.nccl";
  RingWriter writer_{path_};
  RingFile reader_{sys::Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC))};
  std::vector<std::uint64_t> seen_;
};

TEST_F(RingFileTest, GivesEachRecordOnceRingByRing) {
  push(1);
  push(2, 63);
  EXPECT_EQ(read(), FileState::Good);
  EXPECT_TRUE(reader_.had_news());
  push(3);
  read();
  read();
  EXPECT_FALSE(reader_.had_news());
  EXPECT_THAT(seen_, ElementsAre(1, 2, 3));
  EXPECT_EQ(reader_.process(), 4711U);
  EXPECT_EQ(reader_.table(), 5U);
}

TEST_F(RingFileTest, KnowsKindAndCommunicator) {
  push(1);
  reader_.read([](const Entry& entry) {
    EXPECT_EQ(entry.kind(), Kind::Collective);
    EXPECT_EQ(entry.communicator(), 3);
  });
}

TEST_F(RingFileTest, CountsWhatWasOverwrittenAndGivesTheRest) {
  for (std::uint64_t id = 1; id <= kSlots + 10; ++id) {
    push(id);
  }
  read();
  EXPECT_EQ(seen_.size(), kSlots);
  EXPECT_EQ(seen_.front(), 11U);
  EXPECT_EQ(reader_.overwritten(), 10U);
}

TEST_F(RingFileTest, ARecordThatIsBeingWrittenIsLostAndNotTorn) {
  push(1);
  push(2);
  writer_.file().rings[0].slots[0].number = 2 * (kSlots + 1) - 1;
  read();
  EXPECT_THAT(seen_, ElementsAre(2));
  EXPECT_EQ(reader_.overwritten(), 1U);
}

TEST_F(RingFileTest, WaitsForTheMagicAndRefusesAnotherVersion) {
  writer_.file().header.magic = 0;
  EXPECT_EQ(read(), FileState::Unready);
  writer_.file().header.magic = kMagic;
  writer_.file().header.version = 7;
  EXPECT_EQ(read(), FileState::Foreign);
  EXPECT_EQ(reader_.version(), 7U);
}

TEST_F(RingFileTest, AFileThatShrinksWhileItIsReadIsNotReadOn) {
  push(1);
  ASSERT_EQ(::truncate(path_.c_str(), sizeof(Header) + 100), 0);
  EXPECT_EQ(read(), FileState::Unready);
  ASSERT_EQ(::truncate(path_.c_str(), 3), 0);
  EXPECT_EQ(read(), FileState::Unready);
  EXPECT_TRUE(seen_.empty());
}

TEST_F(RingFileTest, ACountThatLiesCostsNoMoreThanARing) {
  push(1);
  writer_.file().rings[0].written = ~std::uint64_t{0};
  EXPECT_EQ(read(), FileState::Good);
  writer_.file().rings[0].written = 2;
  EXPECT_EQ(read(), FileState::Good);
  push(7);  // the third record of a ring that has gone back to its second
  read();
  EXPECT_THAT(seen_, ElementsAre(7));
}

// Each word of a record is its number: a torn one would tell.
TEST_F(RingFileTest, NoRecordIsTornWhileItIsOverwritten) {
  std::atomic<bool> is_over = false;
  std::thread writing([&] {
    for (std::uint64_t id = 1; id <= 300'000; ++id) {
      writer_.push(0, Kind::Proxy, 1, {{1, id}, {7, id}, {14, id}});
    }
    is_over = true;
  });
  std::uint64_t last = 0;
  std::uint64_t given = 0;
  while (!is_over) {
    reader_.read([&](const Entry& entry) {
      EXPECT_EQ(entry.at(7), entry.at(1));
      EXPECT_EQ(entry.at(14), entry.at(1));
      EXPECT_GT(entry.at(1), last);
      last = entry.at(1);
      ++given;
    });
  }
  writing.join();
  reader_.read([&](const Entry&) { ++given; });
  EXPECT_EQ(given + reader_.overwritten(), 300'000U);
}

}  // namespace
}  // namespace chokepoint::capture::nccl
