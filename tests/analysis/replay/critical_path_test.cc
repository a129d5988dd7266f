// The path of made graphs, in which every moment is known.
#include "analysis/replay/critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <set>

#include "analysis/replay/replay.h"
#include "tests/analysis/phases/pipelines.h"

namespace chokepoint::analysis {

inline void PrintTo(const PathPart& part, std::ostream* out) {
  *out << name_of(part.kind) << " rank " << part.rank.value_or(-1) << " to "
       << part.to_rank.value_or(-1) << ": " << part.start_ms << " + " << part.ms;
}

namespace {

using testing::ElementsAre;

const std::vector<std::string> kNodes{"a", "b", "c"};

// Moments one after the other, each by when its arcs have passed.
class MadeGraph {
 public:
  explicit MadeGraph(std::size_t ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      graph_.ranks.push_back({static_cast<std::int64_t>(rank), rank});
    }
  }

  std::size_t add(std::size_t list, std::vector<Arc> arcs) {
    double t_ns = 0;
    for (const Arc& arc : arcs) {
      t_ns = std::max(t_ns, times_ns_[arc.from] + static_cast<double>(arc.ns));
    }
    graph_.moments.push_back({.t_ns = static_cast<std::int64_t>(t_ns),
                              .step = steps_.settled.size(),
                              .list = list,
                              .arcs = std::move(arcs)});
    times_ns_.push_back(t_ns);
    return times_ns_.size() - 1;
  }

  void end_step() {
    const std::int64_t start_ns = steps_.all.empty() ? 0 : steps_.all.back().end_ns;
    steps_.all.push_back({start_ns, graph_.moments.back().t_ns});
    steps_.settled.push_back(steps_.all.back());
  }

  std::optional<CriticalPath> path() const {
    return critical_path_of({graph_, times_ns_, steps_}, kNodes);
  }

 private:
  RunGraph graph_;
  StepLine steps_;
  std::vector<double> times_ns_;
};

Arc computing(std::size_t from, double ms, double late_ms = 0) {
  return {.from = from, .cost = Cost::Computing, .ns = ms_ns(ms), .late_ns = ms_ns(late_ms)};
}
Arc data(std::size_t from, double ms) {
  return {.from = from, .cost = Cost::Transfer, .ns = ms_ns(ms)};
}

double ms_of(const CriticalPath& path, PathKind kind) {
  double ms = 0;
  for (const PathPart& part : path.parts) ms += part.kind == kind ? part.ms : 0;
  return ms;
}

// Steps of `slow_ms` of computing at rank 1, of which rank 0 does 40 ms, and 30 ms of data.
MadeGraph two_ranks(const std::vector<double>& slow_ms) {
  MadeGraph made(2);
  std::vector<std::size_t> ends{made.add(0, {}), made.add(1, {})};
  for (const double slow : slow_ms) {
    const std::size_t quick = made.add(0, {computing(ends[0], 40)});
    const std::size_t late = made.add(1, {computing(ends[1], slow, std::max(slow - 40, 0.0))});
    ends[1] = made.add(1, {data(quick, 30), data(late, 30)});
    ends[0] = made.add(0, {data(quick, 30), data(late, 30)});
    made.end_step();
  }
  return made;
}

TEST(CriticalPathTest, LeadsBackFromTheLastMomentByWhatWasWaitedFor) {
  const auto path = two_ranks({60, 60, 60}).path();
  ASSERT_TRUE(path);
  EXPECT_DOUBLE_EQ(path->length_ms, 90);
  EXPECT_THAT(path->parts, ElementsAre(PathPart{PathKind::Computing, 1, "b", {}, 0, 40},
                                       PathPart{PathKind::Late, 1, "b", {}, 40, 20},
                                       PathPart{PathKind::Transfer, 1, "b", {}, 60, 30}));
}

TEST(CriticalPathTest, IsThatOfTheMedianStep) {
  const auto path = two_ranks({60, 90, 50, 70}).path();
  ASSERT_TRUE(path);
  EXPECT_EQ(path->step, 4) << "the first one follows none";
  EXPECT_DOUBLE_EQ(path->length_ms, 100);
  EXPECT_FALSE(two_ranks({60}).path());
}

TEST(CriticalPathTest, StaysWithARankWhereAnotherOneComesNoLaterThanClocksDiffer) {
  MadeGraph made(2);
  std::vector<std::size_t> ends{made.add(0, {}), made.add(1, {})};
  for (int step = 0; step < 3; ++step) {
    for (int bucket = 0; bucket < 4; ++bucket) {
      const bool is_even = bucket % 2 == 0;
      const std::size_t one = made.add(0, {computing(ends[0], is_even ? 10 : 10.1)});
      const std::size_t other = made.add(1, {computing(ends[1], is_even ? 10.1 : 10)});
      ends[0] = made.add(0, {data(one, 20), data(other, 20)});
      ends[1] = made.add(1, {data(one, 20), data(other, 20)});
    }
    made.end_step();
  }
  const auto path = made.path();
  ASSERT_TRUE(path);
  ASSERT_EQ(path->parts.size(), 8U);
  for (const PathPart& part : path->parts) {
    EXPECT_EQ(part.rank, 0);
    EXPECT_FALSE(part.to_rank);
  }
}

TEST(CriticalPathTest, SaysWhereDataLetAnotherRankGoOn) {
  MadeGraph made(3);
  std::size_t end = made.add(0, {});
  for (int step = 0; step < 2; ++step) {
    for (const std::size_t stage : {0U, 1U, 2U}) {
      const std::size_t done = made.add(stage, {computing(end, 10)});
      end = made.add(stage == 2 ? 0 : stage + 1, {data(done, 5)});
    }
    made.end_step();
  }
  const auto path = made.path();
  ASSERT_TRUE(path);
  EXPECT_THAT(path->parts, ElementsAre(PathPart{PathKind::Computing, 0, "a", {}, 0, 10},
                                       PathPart{PathKind::Transfer, 0, "a", 1, 10, 5},
                                       PathPart{PathKind::Computing, 1, "b", {}, 15, 10},
                                       PathPart{PathKind::Transfer, 1, "b", 2, 25, 5},
                                       PathPart{PathKind::Computing, 2, "c", {}, 30, 10},
                                       PathPart{PathKind::Transfer, 2, "c", 0, 40, 5}));
}

TEST(CriticalPathTest, OfManyShortPartsEachKindKeepsItsTime) {
  MadeGraph made(1);
  std::size_t end = made.add(0, {});
  for (int step = 0; step < 2; ++step) {
    for (int layer = 0; layer < 500; ++layer) {
      end = made.add(0, {data(made.add(0, {computing(end, 0.12)}), 0.08)});
    }
    made.end_step();
  }
  const auto path = made.path();
  ASSERT_TRUE(path);
  EXPECT_LE(path->parts.size(), 40U);
  EXPECT_GT(path->parts.size(), 30U);
  EXPECT_NEAR(ms_of(*path, PathKind::Computing), 60, 1e-6);
  EXPECT_NEAR(ms_of(*path, PathKind::Transfer), 40, 1e-6);
}

// Whatever the graph is: parts lie one after the other, none is too short, and they are the step.
TEST(CriticalPathTest, PartsSumToTheStep) {
  std::mt19937 random(20261128);
  const auto upto = [&](std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(0, most)(random);
  };
  for (int run = 0; run < 200; ++run) {
    const std::size_t ranks = 1 + upto(5);
    MadeGraph made(ranks);
    std::size_t count = 0;
    for (int step = 0; step < 5; ++step) {
      for (std::size_t left = 1 + upto(200); left > 0; --left) {
        std::vector<Arc> arcs;
        for (std::size_t arc = upto(3); arc > 0 && count > 0; --arc) {
          const double ms = static_cast<double>(upto(5000)) / 1e3;
          arcs.push_back({.from = count - 1 - upto(std::min<std::size_t>(count, 9) - 1),
                          .cost = static_cast<Cost>(upto(3)),
                          .ns = ms_ns(ms),
                          .late_ns = ms_ns(upto(1) == 0 ? 0 : ms / 2)});
        }
        made.add(upto(ranks - 1), std::move(arcs));
        ++count;
      }
      made.end_step();
    }
    const auto path = made.path();
    if (!path) continue;
    double at_ms = 0;
    for (const PathPart& part : path->parts) {
      EXPECT_NEAR(part.start_ms, at_ms, 1e-6);
      EXPECT_GE(part.ms, 0.0099 * path->length_ms);
      at_ms += part.ms;
    }
    EXPECT_NEAR(at_ms, path->length_ms, 1e-6);
  }
}

TEST(CriticalPathTest, OfAReplayedPipelinePassesThroughItsStages) {
  const PipelinePlan plan{.stages = 3, .message_ms = 5};
  StepLine steps;
  steps.settled = steps.all = pipeline_steps(plan);
  Exchanges exchanges = pipeline(plan);
  for (std::size_t list = 0; list < exchanges.size(); ++list) {
    for (Exchange& each : exchanges[list]) each.rank = static_cast<std::int64_t>(list);
  }
  const Phases phases{.source = PhaseSource::Library, .step_ms = pipeline_step_ms(plan)};
  const auto replay = Replay::of({.exchanges = exchanges,
                                  .meetings = meetings_of(exchanges),
                                  .steps = steps,
                                  .phases = phases},
                                 {});
  ASSERT_TRUE(replay);
  const auto path = replay->critical_path(kNodes);
  ASSERT_TRUE(path);
  EXPECT_NEAR(path->length_ms, pipeline_step_ms(plan), 1e-6);
  std::set<std::int64_t> ranks;
  for (const PathPart& part : path->parts) ranks.insert(part.rank.value_or(-1));
  EXPECT_THAT(ranks, ElementsAre(0, 1, 2));
  // There and back, between three stages; and the last one asks for each batch when it is free.
  EXPECT_NEAR(ms_of(*path, PathKind::Transfer), (4 + 3) * 5, 1e-6);
}

}  // namespace
}  // namespace chokepoint::analysis
