#include "analysis/limits/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "analysis/limits/limit_timeline.h"
#include "analysis/timeline/spans.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;

class ArrivalsTest : public testing::Test {
 protected:
  ArrivalsTest() {
    made_.host("a");
    made_.host("b");
    for (std::size_t& connection : connections_) {
      connection = made_.connect("a", "b");
    }
  }

  // In each step of 100 ms, ten bins, what each of the connections brings: megabytes.
  void arrive(const std::vector<std::vector<double>>& megabytes) {
    for (std::size_t own = 0; own < connections_.size(); ++own) {
      const auto& place = made_.data.connections[connections_[own]].ends[1];
      FlowData& flow = made_.data.nodes[place->node].flows[place->flow];
      for (int step = 0; step < 20; ++step) {
        for (std::size_t bin = 0; bin < megabytes[own].size(); ++bin) {
          const std::int64_t begin_ns = 100'000'000 * step + 10'000'000 * std::int64_t(bin);
          flow.packets[0].push_back(
              {.t_ns = begin_ns + 10'000'000,
               .bin_ns = 10'000'000,
               .payload_bytes = static_cast<std::int64_t>(1e6 * megabytes[own][bin])});
        }
      }
    }
  }
  bool are_at_one_rate(Direction direction = Direction::AToB) {
    return Arrivals(made_.data)
        .are_at_one_rate(directions_of(made_.data).at(static_cast<std::size_t>(direction)));
  }

  MadeRun made_;
  std::array<std::size_t, 2> connections_ = {};
};

TEST_F(ArrivalsTest, ConnectionsThatShareAFullLinkComeAtItsRate) {
  arrive({{1, 3, 2, 0, 1, 3, 2, 1, 1}, {2, 0, 1, 3, 2, 0, 1, 2, 1}});
  EXPECT_TRUE(are_at_one_rate());
  EXPECT_FALSE(are_at_one_rate(Direction::BToA)) << "nothing came there";
}

TEST_F(ArrivalsTest, WhatComesInBurstsIsAtNoRate) {
  arrive({{1, 3, 0.5, 2, 0.2, 3, 1, 4, 1}, {0, 1, 0, 2, 0.1, 0, 1, 0, 1}});
  EXPECT_FALSE(are_at_one_rate());
}

TEST_F(ArrivalsTest, WhatComesLateForABinFillsTheNextOne) {
  arrive({{2, 2, 2, 2, 1.4, 2.6, 2, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 0, 0}});
  EXPECT_TRUE(are_at_one_rate());
}

TEST_F(ArrivalsTest, MessagesThatFitIntoABinSayNothing) {
  arrive({{1, 0, 1, 0, 1, 0, 1, 0, 1}, {0, 0, 0, 0, 0, 0, 0, 0, 0}});
  EXPECT_FALSE(are_at_one_rate());
}

TEST_F(ArrivalsTest, FewBinsSayNothing) {
  arrive({{1, 1, 1, 1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 0, 0}});
  EXPECT_TRUE(are_at_one_rate());
  for (NodeData& node : made_.data.nodes) {
    for (FlowData& flow : node.flows) {
      flow.packets[0].resize(std::min<std::size_t>(flow.packets[0].size(), 18));
    }
  }
  EXPECT_FALSE(are_at_one_rate());
}

// A job whose loaders fetch what they need from a host without ranks.
class OfStore : public testing::Test {
 protected:
  OfStore() {
    for (const char* name : {"a", "b"}) {
      made_.host(name);
    }
    made_.add_traffic(made_.connect("a", "b"), Direction::AToB, {.busy_ms = 20});
    made_.host("store");
    made_.add_traffic(made_.connect("a", "store"), Direction::BToA, full_link(50));
    made_.lose("store");
  }
  bool holds_anything() {
    const Spans spans{made_.span()};
    const LimitTimeline timeline = limit_timeline_of(made_.data, fit_clocks(made_.data), spans);
    return std::ranges::any_of(timeline.directions, [&](const DirectionLimits& each) {
      return each.view.connection == 1 && each.held.sum() > 0;
    });
  }

  MadeRun made_;
};

TEST_F(OfStore, ItsTrafficHoldsNoExchangeUpWhereAllRanksAreKnown) {
  made_.collectives(10, {0, 0});
  for (std::size_t rank = 0; rank < 2; ++rank) {
    record::Process& process = made_.data.nodes[rank].processes.front();
    process.rank = static_cast<std::int64_t>(rank);
    process.world_size = 2;
  }
  EXPECT_FALSE(holds_anything());
  for (NodeData& node : made_.data.nodes) {
    node.processes.front().world_size = 3;
  }
  EXPECT_TRUE(holds_anything()) << "the third rank may be there";
}

TEST_F(OfStore, ItsTrafficMayBeAnExchangeWhereNoneIsKnown) { EXPECT_TRUE(holds_anything()); }

}  // namespace
}  // namespace chokepoint::analysis
