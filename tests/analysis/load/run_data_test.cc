#include "analysis/load/run_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/record/names.h"
#include "tests/analysis/run_maker.h"

namespace chokepoint::analysis {
namespace {

TEST(Growth, GoesByStraightLinesAndHoldsAtBothEnds) {
  const SeriesData series{.readings = {{.t_ns = 100, .value = 10}, {.t_ns = 200, .value = 30}}};
  EXPECT_EQ(growth(series, {100, 200}), 20);
  EXPECT_EQ(growth(series, {125, 150}), 5);
  EXPECT_EQ(growth(series, {0, 150}), 10);
  EXPECT_EQ(growth(series, {150, 900}), 10);
  EXPECT_EQ(growth(series, {300, 900}), 0);
  EXPECT_FALSE(growth(SeriesData(), {0, 1}));
}

TEST(Level, HoldsUntilTheNextReading) {
  const SeriesData series{
      .readings = {{.t_ns = 100, .value = 10, .peak = 10}, {.t_ns = 200, .value = 30, .peak = 30}}};
  EXPECT_EQ(mean_level(series, {100, 200}), 10);
  EXPECT_EQ(mean_level(series, {150, 250}), 20);
  EXPECT_EQ(mean_level(series, {500, 600}), 30);
  EXPECT_EQ(mean_level(series, {120, 120}), 10);
  EXPECT_FALSE(mean_level(series, {0, 50}));
  EXPECT_EQ(most_level(series, {120, 180}), 10);
  EXPECT_EQ(most_level(series, {120, 280}), 30);
  EXPECT_FALSE(most_level(series, {0, 50}));
}

TEST(Share, StandsForItsOwnSpanAlone) {
  const SeriesData series{.readings = {{.t_ns = 100, .bin_ns = 100, .value = 10, .peak = 50},
                                       {.t_ns = 200, .bin_ns = 100, .value = 30, .peak = 40},
                                       {.t_ns = 400, .bin_ns = 100, .value = 90, .peak = 90}}};
  EXPECT_EQ(mean_level(series, {0, 200}), 20);
  EXPECT_EQ(mean_level(series, {50, 100}), 10);
  EXPECT_EQ(mean_level(series, {150, 300}), 30);
  EXPECT_FALSE(mean_level(series, {220, 280}));
  EXPECT_EQ(most_level(series, {0, 200}), 50);
  EXPECT_EQ(most_level(series, {100, 200}), 40);
}

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Missing : public testing::Test {
 protected:
  static void work(NodeMaker& node) {
    const std::int64_t flow = node.flow(node.plan().address + ":4000", "10.0.0.9:5000");
    node.traffic(flow, record::Direction::AToB, {.to_ms = 100, .bytes_per_s = 1e6});
    node.sockets(flow, record::Direction::AToB, {.to_ms = 100, .last = {.bytes_sent = 1000}});
    node.steps({.count = 3, .length_ms = 30});
  }
  std::vector<std::string> lines() { return run_.load().missing; }

  RunMaker run_;
};

TEST_F(Missing, IsNothingWhereAllIsThere) {
  work(run_.node({.rank = 0, .world_size = 1}));
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(Missing, NamesRanksWithoutARecord) {
  work(run_.node({.rank = 1, .world_size = 4}));
  EXPECT_THAT(lines(), Contains("no record of rank 0, 2, 3 of 4"));
}

TEST_F(Missing, SaysWhatWasNotMeasured) {
  run_.node({.rank = 0, .world_size = 1}).event(1, record::kDropped, "packets");
  const auto said = lines();
  EXPECT_THAT(said, Contains("no connection of the job was seen on a"));
  EXPECT_THAT(said, Contains("no steps were found on a"));
  EXPECT_THAT(said, Contains(HasSubstr("did not reach its record")));
}

TEST_F(Missing, SaysThatPacketsWereDropped) {
  NodeMaker& node = run_.node({.rank = 0, .world_size = 1});
  work(node);
  node.event(1, record::kPacketsDropped, "eth0");
  EXPECT_THAT(lines(), Contains("not all packets were seen on a"));
}

TEST_F(Missing, TwoJobsAreToldByTheirRanks) {
  work(run_.node({.name = "a", .rank = 0, .world_size = 1}));
  work(run_.node({.name = "b", .address = "10.0.0.2", .rank = 0, .world_size = 1}));
  EXPECT_THAT(lines(), Contains(HasSubstr("two jobs lie here: rank 0 is in the records of a, b")));
}

TEST_F(Missing, ARecordWithoutAnEndOrOneThatIsNone) {
  work(run_.node({.rank = 0, .world_size = 1, .is_ended = false}));
  std::ofstream(run_.folder() / "b.db") << "no record at all, whatever it is called by its name";
  const auto said = lines();
  EXPECT_THAT(said, Contains(HasSubstr("the record of a has no end")));
  EXPECT_THAT(said, Contains(HasSubstr("a record cannot be read")));
}

}  // namespace

}  // namespace chokepoint::analysis
