#include "analysis/evidence/trace_waits.h"

#include <gmock/gmock.h>

namespace chokepoint::analysis {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

struct Part {
  std::int64_t start_ns = 0;
  std::int64_t length_ns = 0;
};

// All of it exposed, but for what `exposed` says.
RankRecord rank(std::int64_t number, const std::vector<Part>& parts, Spans exposed = {{0, 1'000}},
                const char* group = "/gloo:all_reduce") {
  RankRecord own{.rank = number, .groups = {group}};
  for (std::size_t at = 0; at < parts.size(); ++at) {
    own.collectives.push_back({.group = 0,
                               .number = at,
                               .start_ns = parts[at].start_ns,
                               .length_ns = parts[at].length_ns});
  }
  own.time = TraceTime{.exposed = std::move(exposed)};
  return own;
}

TEST(TraceWaits, AreOfTheRankWhosePartIsTheShortest) {
  const RankRecord a = rank(0, {{10, 70}});
  const RankRecord b = rank(1, {{60, 20}});
  const RankRecord c = rank(2, {{20, 60}});
  const TraceWaits waits = waits_of({&a, &b, &c});
  EXPECT_EQ(waits.collectives, 1U);
  EXPECT_EQ(waits.waiting_ns.at(0), 50);
  EXPECT_EQ(waits.waiting_ns.at(1), 0);
  EXPECT_EQ(waits.waiting_ns.at(2), 40);
  EXPECT_THAT(cost_of_ranks(waits), ElementsAre(Pair(1, DoubleEq(45))));
}

// Two collectives side by side wait for the same rank at the same time.
TEST(TraceWaits, AtTheSameTimeCountOnce) {
  const RankRecord a = rank(0, {{0, 100}, {10, 90}});
  const RankRecord b = rank(1, {{90, 10}, {95, 5}});
  EXPECT_EQ(waits_of({&a, &b}).waiting_ns.at(0), 95);
}

TEST(TraceWaits, DoNotCountWhatIsComputedMeanwhile) {
  const RankRecord a = rank(0, {{0, 100}}, {{60, 100}});
  const RankRecord b = rank(1, {{90, 10}});
  EXPECT_EQ(waits_of({&a, &b}).waiting_ns.at(0), 30);
}

// A rank that sends may be through before the last one has come.
TEST(TraceWaits, AreOfCollectivesThatAllEndTogether) {
  const RankRecord a = rank(0, {{0, 100}}, {{0, 100}}, "0/broadcast");
  const RankRecord b = rank(1, {{90, 10}}, {{0, 100}}, "0/broadcast");
  EXPECT_EQ(waits_of({&a, &b}).collectives, 0U);
  EXPECT_THAT(cost_of_ranks(waits_of({&a, &b})), IsEmpty());
}

TEST(TraceWaits, OfOneRankAreNone) {
  const RankRecord a = rank(0, {{0, 100}});
  EXPECT_EQ(waits_of({&a}).collectives, 0U);
  EXPECT_EQ(waits_of({}).collectives, 0U);
}

}  // namespace
}  // namespace chokepoint::analysis
