#include "capture/nccl/reader.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "capture/nccl/folder.h"
#include "tests/capture/nccl/made_entries.h"
#include "tests/capture/nccl/ring_writer.h"

namespace chokepoint::capture::nccl {
namespace {

// What the host calls a process is not what it calls itself.
constexpr std::uint64_t kOuter = 100'000;

class ReaderTest : public testing::Test {
 protected:
  void tick(std::int64_t at_ms) { reader_.tick(at_ms * kMs); }

  Folder folder_ = std::move(*Folder::make(testing::TempDir()));
  std::vector<record::Collective> rows_;
  std::vector<std::array<std::int64_t, 3>> tags_;
  bool is_alive_ = true;
  Reader reader_{folder_.path(), [this](const record::Collective& row) { rows_.push_back(row); },
                 [this](std::uint64_t process, std::uint64_t) -> std::optional<Reader::Owner> {
                   if (!is_alive_) {
                     return std::nullopt;
                   }
                   const bool has_rank = process == 4711;
                   return Reader::Owner{
                       .pid = process + kOuter,
                       .rank = has_rank ? std::optional<std::int64_t>(5) : std::nullopt};
                 },
                 [this](std::optional<std::int64_t> rank, std::uint64_t tag, std::int64_t at_ns) {
                   tags_.push_back({rank.value_or(-1), static_cast<std::int64_t>(tag), at_ns});
                 }};
};

void exchange(RingWriter& writer, std::uint64_t id, std::uint64_t communicator = 1) {
  writer.push(0, Kind::Collective, communicator,
              {{word::kId, id},
               {word::kFunction, 1},
               {word::kEnqueued, ns(300)},
               {word::kChannels, 1},
               {word::kPeer, kNone}});
  writer.push(1, Kind::Proxy, communicator,
              {{word::kId, id}, {word::kProxyBegin, ns(310)}, {word::kProxyEnd, ns(320)}});
}

TEST_F(ReaderTest, FollowsProcessesThatComeAndTellsTheirRanks) {
  tick(100);
  RingWriter one(folder_.path() / "4711.nccl");
  RingWriter other(folder_.path() / "12.nccl", 12);
  one.push(0, Kind::Communicator, 1, {{word::kHash, 1}, {word::kRank, 0}, {word::kRanks, 2}});
  other.push(0, Kind::Communicator, 1, {{word::kHash, 1}, {word::kRank, 1}, {word::kRanks, 2}});
  exchange(one, 7);
  exchange(other, 7);
  tick(500);
  tick(5'000);
  ASSERT_EQ(rows_.size(), 2U);
  EXPECT_EQ(rows_[0].communicator, rows_[1].communicator);
  EXPECT_EQ(rows_[0].rank.value() + rows_[1].rank.value(), 5 + 1);
  EXPECT_EQ(reader_.figures().processes, 2U);
  EXPECT_EQ(reader_.figures().operations, 2U);
}

TEST_F(ReaderTest, TellsTagsAndWhatNcclIsAskedFor) {
  RingWriter writer(folder_.path() / "4711.nccl");
  const Choice choice{.nccl_version = 23102, .reason = Choice::Reason::Costly, .steps = true};
  writer.file().header.events = choice.word();
  for (const std::uint64_t tag : {0, 9}) {
    writer.push(0, Kind::Collective, 1,
                {{word::kId, 7 + tag},
                 {word::kFunction, 1},
                 {word::kEnqueued, ns(300)},
                 {word::kPeer, kNone},
                 {word::kTag, tag}});
  }
  tick(500);
  reader_.finish(600 * kMs);
  ASSERT_EQ(tags_.size(), 1U);
  EXPECT_EQ(tags_[0], (std::array<std::int64_t, 3>{5, 9, 300 * kMs}));
  EXPECT_EQ(reader_.figures().choices, std::set<std::uint64_t>{choice.word()});
}

TEST_F(ReaderTest, TellsTheNewestCollectiveOfEachKindAsSoonAsItIsAskedFor) {
  RingWriter writer(folder_.path() / "4711.nccl");
  writer.push(0, Kind::Communicator, 1, {{word::kHash, 1}, {word::kRank, 0}, {word::kRanks, 2}});
  for (const std::uint64_t sequence : {5, 6}) {
    writer.push(0, Kind::Collective, 1,
                {{word::kId, 7 + sequence},
                 {word::kFunction, 1},
                 {word::kSequence, sequence},
                 {word::kBytes, 4'000},
                 {word::kEnqueued, ns(300)},
                 {word::kPeer, kNone}});
  }
  tick(500);
  std::vector<record::Collective> enqueued;
  const auto see = [&](std::uint64_t process, std::span<const record::Collective> newest) {
    EXPECT_EQ(process, 4711U + kOuter);
    enqueued.assign(newest.begin(), newest.end());
  };
  reader_.report_enqueued(see);
  ASSERT_EQ(enqueued.size(), 1U);
  EXPECT_EQ(enqueued[0].number, 6);
  EXPECT_EQ(enqueued[0].bytes.value(), 4'000);
  EXPECT_EQ(enqueued[0].enqueued_ns.value(), 300 * kMs);
  EXPECT_TRUE(rows_.empty());
  // The numbers of communicators come round again.
  writer.push(0, Kind::Communicator, 1, {{word::kHash, 9}, {word::kRank, 0}, {word::kRanks, 2}});
  tick(700);
  reader_.report_enqueued(see);
  EXPECT_TRUE(enqueued.empty());
}

TEST_F(ReaderTest, OfACommunicatorThatWasLeftNothingIsAskedAnyMore) {
  RingWriter writer(folder_.path() / "4711.nccl");
  writer.push(0, Kind::Communicator, 1, {{word::kHash, 1}, {word::kRank, 0}, {word::kRanks, 2}});
  exchange(writer, 7);
  tick(500);
  std::size_t enqueued = 0;
  const auto see = [&](std::uint64_t, std::span<const record::Collective> newest) {
    enqueued = newest.size();
  };
  reader_.report_enqueued(see);
  EXPECT_EQ(enqueued, 1U);
  writer.push(0, Kind::Left, 1, {});
  tick(1'000);
  reader_.report_enqueued(see);
  EXPECT_EQ(enqueued, 0U);
}

TEST_F(ReaderTest, AProcessWithSeveralGpusIsSeveralRanks) {
  RingWriter writer(folder_.path() / "4711.nccl");
  for (const std::uint64_t rank : {0U, 1U}) {
    writer.push(0, Kind::Communicator, rank + 1,
                {{word::kHash, 1}, {word::kRank, rank}, {word::kRanks, 2}});
  }
  exchange(writer, 7, 1);
  exchange(writer, 8, 2);
  reader_.finish(400 * kMs);
  ASSERT_EQ(rows_.size(), 2U);
  EXPECT_EQ(rows_[0].rank, 0);
  EXPECT_EQ(rows_[1].rank, 1);
}

// Who counts is the plugin, in which nothing is lost: what was overwritten leaves a gap, and both
// ends have the same numbers after it.
TEST_F(ReaderTest, MessagesKeepTheirNumbersWhereARingWasOverwritten) {
  constexpr std::uint64_t kMore = 100;
  const auto write = [](RingWriter& writer, Function function, std::uint64_t rank) {
    writer.push(0, Kind::Communicator, 1,
                {{word::kHash, 1}, {word::kRank, rank}, {word::kRanks, 2}});
    for (std::uint64_t sequence = 0; sequence < kSlots + kMore; ++sequence) {
      writer.push(1, Kind::Message, 1,
                  {{word::kId, 1 + sequence},
                   {word::kSequence, sequence},
                   {word::kFunction, static_cast<std::uint64_t>(function)},
                   {word::kEnqueued, ns(300)},
                   {word::kPeer, 1 - rank}});
    }
  };
  RingWriter sender(folder_.path() / "4711.nccl");
  RingWriter receiver(folder_.path() / "12.nccl", 12);
  write(sender, Function::Send, 0);
  write(receiver, Function::Receive, 1);
  reader_.finish(400 * kMs);
  EXPECT_EQ(reader_.figures().overwritten, 2 * kMore);
  std::map<record::CollectiveKind, std::set<std::int64_t>> numbers;
  for (const record::Collective& row : rows_) {
    numbers[row.kind].insert(row.number);
  }
  EXPECT_EQ(numbers[record::CollectiveKind::Send], numbers[record::CollectiveKind::Receive]);
  EXPECT_EQ(numbers[record::CollectiveKind::Send].size(), kSlots);
  EXPECT_EQ(*numbers[record::CollectiveKind::Send].begin(),
            (std::int64_t{1} << 32) + static_cast<std::int64_t>(kMore));
}

// Data, tensor and pipeline parallel: whatever its place in each, it is one rank of the job.
TEST_F(ReaderTest, ARankIsTheJobsInAllItsCommunicators) {
  RingWriter writer(folder_.path() / "4711.nccl");
  for (const std::uint64_t communicator : {1U, 2U, 3U}) {
    writer.push(0, Kind::Communicator, communicator,
                {{word::kHash, 70 + communicator}, {word::kRank, communicator}, {word::kRanks, 8}});
    exchange(writer, communicator, communicator);
  }
  tick(500);
  reader_.finish(600 * kMs);
  ASSERT_EQ(rows_.size(), 3U);
  std::set<std::int64_t> communicators;
  for (const record::Collective& row : rows_) {
    EXPECT_EQ(row.rank, 5);
    communicators.insert(row.communicator.value());
  }
  EXPECT_EQ(communicators.size(), 3U);
}

TEST_F(ReaderTest, WhatIsOpenAtTheEndIsGiven) {
  RingWriter writer(folder_.path() / "1.nccl");
  exchange(writer, 7);
  reader_.finish(400 * kMs);
  EXPECT_EQ(rows_.size(), 1U);
}

// It is found only later than its first collectives are over.
TEST_F(ReaderTest, WhatAProcessDidBeforeItWasFoundHasItsRank) {
  RingWriter writer(folder_.path() / "4711.nccl");
  writer.push(0, Kind::Communicator, 1, {{word::kHash, 1}, {word::kRank, 0}, {word::kRanks, 2}});
  exchange(writer, 7);
  is_alive_ = false;
  for (std::int64_t at_ms = 400; at_ms < 8'000; at_ms += 300) {
    tick(at_ms);
  }
  EXPECT_TRUE(rows_.empty());
  is_alive_ = true;
  tick(8'000);
  ASSERT_EQ(rows_.size(), 1U);
  EXPECT_EQ(rows_[0].rank, 5);
}

TEST_F(ReaderTest, OfAProcessThatIsNotFoundTheCommunicatorsRankIsTold) {
  is_alive_ = false;
  RingWriter writer(folder_.path() / "4711.nccl");
  writer.push(0, Kind::Communicator, 1, {{word::kHash, 1}, {word::kRank, 0}, {word::kRanks, 2}});
  exchange(writer, 7);
  for (std::int64_t at_ms = 400; at_ms < 12'000; at_ms += 300) {
    tick(at_ms);
  }
  ASSERT_EQ(rows_.size(), 1U);
  EXPECT_EQ(rows_[0].rank, 0);
}

TEST_F(ReaderTest, WhatEndedProcessesDidHasTheirRank) {
  RingWriter writer(folder_.path() / "4711.nccl");
  writer.push(0, Kind::Communicator, 1, {{word::kHash, 1}, {word::kRank, 0}, {word::kRanks, 2}});
  exchange(writer, 7);
  tick(400);
  ASSERT_TRUE(rows_.empty());
  is_alive_ = false;
  reader_.finish(500 * kMs);
  ASSERT_EQ(rows_.size(), 1U);
  EXPECT_EQ(rows_[0].rank, 5);
}

TEST_F(ReaderTest, FilesOfEndedProcessesAreReadAndTakenAway) {
  const std::filesystem::path file = folder_.path() / "4711.nccl";
  exchange(*std::make_unique<RingWriter>(file), 7);
  tick(400);
  EXPECT_TRUE(std::filesystem::exists(file));  // it had news
  tick(700);
  EXPECT_EQ(rows_.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(reader_.figures().processes, 1U);
  EXPECT_EQ(reader_.figures().operations, 1U);
}

TEST_F(ReaderTest, FilesOfLivingProcessesStay) {
  RingWriter writer(folder_.path() / "4711.nccl");
  for (int at_ms = 400; at_ms < 10'000; at_ms += 300) {
    tick(at_ms);
  }
  exchange(writer, 7);
  reader_.finish(11'000 * kMs);
  EXPECT_EQ(rows_.size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "4711.nccl"));
}

TEST_F(ReaderTest, TellsOfAPluginOfAnotherBuild) {
  RingWriter writer(folder_.path() / "1.nccl");
  writer.file().header.version = 9;
  tick(500);
  EXPECT_EQ(reader_.figures().foreign_version, 9U);
  EXPECT_EQ(reader_.figures().processes, 0U);
}

}  // namespace
}  // namespace chokepoint::capture::nccl
