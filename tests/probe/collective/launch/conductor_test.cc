#include "probe/collective/launch/conductor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <list>
#include <vector>

#include "probe/collective/worker.h"
#include "tests/probe/collective/fakes/store_backend.h"

namespace chokepoint::probe::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

const host::Settings kSettings{{"cpu", {{"cores", "4"}}}};

// A rank's store without a network between.
class Near final : public Group {
 public:
  explicit Near(Hub& hub) : hub_(hub) {}
  Result<> set(const std::string& key, const std::string& value) override {
    return hub_.set(key, value);
  }
  Result<std::string> get(const std::string& key) override { return hub_.get(key, soon(), {}); }
  Result<std::string> take(const std::string& key) override { return hub_.take(key, soon(), {}); }

 private:
  static Hub::Clock::time_point soon() { return Hub::Clock::now() + seconds(20); }
  Hub& hub_;
};

class Conduct : public testing::Test {
 protected:
  static constexpr int kRanks = 3;

  void start(const std::string& trouble = "", std::uint64_t memory = 0) {
    for (int rank = 0; rank < kRanks; ++rank) {
      ASSERT_TRUE(hub_.enter({.job = "j", .rank = rank, .ranks = kRanks, .host = "hubble"}));
      workers_.push_back(std::async(std::launch::async, [this, rank, trouble, memory] {
        Near near(hub_);
        const Job job{.position = {.rank = rank, .ranks = kRanks},
                      .open = fakes::store_backend().open,
                      .options = {.algorithm = trouble},
                      .memory_bytes = memory,
                      .settings = [] { return kSettings; }};
        const Result<> worked = work(job, near);
        if (worked) {
          hub_.leave(rank, true);
        } else {
          hub_.fail({.rank = rank, .error = worked.error()});
        }
      }));
    }
  }

  Result<> conduct(const Plan& plan, Hub::StillWanted wanted = {}) {
    const Result<> done = collective::conduct(hub_, plan,
                                              {.timeout = seconds(20),
                                               .wanted = std::move(wanted),
                                               .on_size = [this](const SizeResult&) { ++told_; }},
                                              outcome_);
    hub_.finish();
    for (std::future<void>& worker : workers_) {
      worker.get();
    }
    return done;
  }

  Hub hub_{"j", kRanks};
  std::list<std::future<void>> workers_;
  Outcome outcome_;
  int told_ = 0;
};

TEST_F(Conduct, MeasuresEverySizeOfEveryCollectiveAndTheDataAreRight) {
  start();
  const Result<> done = conduct({.collective = Collective::AllToAll,
                                 .type = ElementType::Float16,
                                 .bytes = {1, 2, 100, 1000},
                                 .warm_up = 1,
                                 .iterations = 4});
  ASSERT_TRUE(done) << describe(done.error());
  ASSERT_THAT(outcome_.sizes, SizeIs(3)) << "two of them are the same, rounded up";
  EXPECT_EQ(told_, 4);
  EXPECT_EQ(outcome_.sizes[0].operation.bytes, 6U);
  EXPECT_EQ(outcome_.sizes[2].operation.bytes, 1002U);
  for (const SizeResult& size : outcome_.sizes) {
    EXPECT_THAT(size.times_us, SizeIs(4));
    EXPECT_THAT(size.times_us, Each(Gt(0)));
    EXPECT_EQ(size.wrong, std::vector<Wrong>());
  }
  EXPECT_THAT(outcome_.members, SizeIs(kRanks));
  ASSERT_THAT(outcome_.data_paths, SizeIs(kRanks));
  EXPECT_EQ(outcome_.data_paths[1].library, "by store");
  EXPECT_THAT(outcome_.hosts, ElementsAre(Pair("hubble", kSettings)));
}

TEST_F(Conduct, TimeDecidesHowOften) {
  start();
  ASSERT_TRUE(conduct({.bytes = {64}, .time = milliseconds(30), .check = false}));
  EXPECT_GE(outcome_.sizes[0].times_us.size(), 3U);
  EXPECT_EQ(outcome_.sizes[0].wrong, std::nullopt) << "nobody looked";
}

TEST_F(Conduct, WrongDataAreFoundAndMeasuredAllTheSame) {
  start("damage");
  ASSERT_TRUE(conduct({.bytes = {256}, .iterations = 2}));
  ASSERT_THAT(outcome_.sizes[0].wrong.value(), SizeIs(1));
  EXPECT_EQ(outcome_.sizes[0].wrong->front().rank, 1);
  EXPECT_EQ(outcome_.sizes[0].wrong->front().offset_bytes, 252U);
  EXPECT_TRUE(outcome_.sizes[0].is_wrong());
  EXPECT_THAT(outcome_.sizes[0].times_us, SizeIs(2));
}

TEST_F(Conduct, ARanksFailureEndsIt) {
  start("fail");
  const Result<> done = conduct({.bytes = {64}, .iterations = 2});
  ASSERT_FALSE(done);
  EXPECT_THAT(describe(done.error()), HasSubstr("rank 1 on hubble: all-reduce: lo: so it is"));
  EXPECT_TRUE(outcome_.sizes.empty());
}

TEST_F(Conduct, WhatDoesNotFitIntoMemoryIsNotTried) {
  start("", 1000);
  const Result<> done = conduct({.bytes = {64, 1 << 20}, .iterations = 1});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::Exhausted);
  EXPECT_THAT(outcome_.sizes, SizeIs(1)) << "what was measured is kept";
}

TEST_F(Conduct, WhoWantsItToEndIsHeard) {
  start();
  int asked = 0;
  const Result<> done = conduct({.bytes = {64}, .time = seconds(60)}, [&]() -> Result<> {
    return ++asked < 20 ? Result<>{} : fail(ErrorKind::Interrupted, "", "", "interrupted");
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::Interrupted);
}

// Closed, it waits for the other ranks: NCCL does among those of a host.
class Unprepared final : public Communicator {
 public:
  explicit Unprepared(std::vector<std::string>& events) : events_(events) {}
  ~Unprepared() override { events_.emplace_back("closed"); }
  Result<> prepare(const Operation& /*operation*/) override {
    return fail(ErrorKind::Exhausted, "prepare", "gpu 1", "out of memory");
  }
  Result<> write_input(std::span<const std::byte> /*bytes*/) override { return {}; }
  Result<std::vector<double>> run(int /*times*/) override { return std::vector<double>(); }
  Result<> read_output(std::span<std::byte> /*bytes*/) const override { return {}; }
  DataPath data_path() const override { return {}; }

 private:
  std::vector<std::string>& events_;
};

TEST(Work, AFailureIsToldBeforeTheLibraryIsClosed) {
  Hub hub("j", 1);
  Near near(hub);
  const Operation operation{.bytes = 4};
  ASSERT_TRUE(hub.set(order_key(0), to_text({.task = Task::Prepare, .operation = operation})));
  std::vector<std::string> events;
  const Job job{.open = [&](const RankPosition&, Store&,
                            const BackendOptions&) -> Result<std::unique_ptr<Communicator>> {
    return std::make_unique<Unprepared>(events);
  }};
  EXPECT_FALSE(work(job, near, [&](const Error& error) { events.push_back(error.reason); }));
  EXPECT_THAT(events, testing::ElementsAre("out of memory", "closed"));
}

TEST(Outcome, BandwidthIsOfTheMeanTime) {
  const auto size =
      document_of({.operation = {.bytes = 1'000'000, .ranks = 4}, .times_us = {500, 1500}});
  EXPECT_DOUBLE_EQ(size.algbw_mbps.value(), 8000);
  EXPECT_DOUBLE_EQ(size.busbw_mbps.value(), 12000);
  EXPECT_EQ(document_of(SizeResult{}).algbw_mbps, std::nullopt);
}

}  // namespace

}  // namespace chokepoint::probe::collective
