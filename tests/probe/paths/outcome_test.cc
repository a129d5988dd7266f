#include "probe/paths/outcome.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

namespace chokepoint::probe::paths {
namespace {

constexpr std::uint32_t kRounds = 1000;
constexpr std::int64_t kOffsetNs = -5'000'000'000;  // the peer's clock less this one's

bool is_on_the_member(std::size_t flow) { return flow % 4 == 1; }

// 64 flows; what is done to every fourth is done by `change`.
template <class Change>
SweepRecord swept(Change change) {
  SweepRecord record{.rounds = kRounds};
  for (std::size_t i = 0; i < 64; ++i) {
    FlowRecord flow{.source_port = static_cast<std::uint16_t>(40'000 + i), .sent = kRounds};
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      // A queue that all flows share, and a clock that drifts.
      const std::int64_t common = round % 7 * 100'000 + round * 50;
      flow.trips.push_back({.round = round,
                            .there_ns = kOffsetNs + common + 20'000,
                            .back_ns = 30'000 - kOffsetNs - round * 50});
    }
    flow.received_by_peer = flow.answered = kRounds;
    if (is_on_the_member(i)) {
      change(flow);
    }
    record.flows.push_back(std::move(flow));
  }
  return record;
}

constexpr documents::PathsExpected kExpected{.members = 8, .loss_percent = 1};

TEST(Outcome, FlowsThatAreAlike) {
  const auto outcome = judged(swept([](FlowRecord&) {}), {}, kExpected);
  EXPECT_EQ(outcome.verdict, Verdict::Alike);
  EXPECT_TRUE(outcome.findings.empty());
  EXPECT_EQ(outcome.paths.at_least, 1U);
  EXPECT_EQ(outcome.paths.by_hops, std::nullopt);
  EXPECT_NEAR(outcome.flows[0].rtt_ms->min, 0.05, 0.001);
  EXPECT_NEAR(*outcome.flows[0].later_there_ms, 0, 0.001);
}

TEST(Outcome, LossOnTheWayThere) {
  const auto outcome = judged(swept([](FlowRecord& flow) {
                                flow.received_by_peer -= 30;
                                flow.answered -= 30;
                                flow.trips.resize(flow.answered);
                              }),
                              {}, kExpected);
  ASSERT_EQ(outcome.findings.size(), 1U);
  const auto& finding = outcome.findings.front();
  EXPECT_EQ(outcome.verdict, Verdict::Found);
  EXPECT_EQ(finding.kind, documents::FlowFault::Loss);
  EXPECT_EQ(finding.direction, Direction::Send);
  EXPECT_EQ(finding.flows, 16U);
  EXPECT_NEAR(*finding.loss_percent, 3, 1e-9);
  EXPECT_EQ(finding.others_loss_percent, 0);
  EXPECT_EQ(outcome.send->lost, 480U);
  EXPECT_EQ(outcome.receive->lost, 0U);
  EXPECT_EQ(outcome.paths.at_least, 2U);
}

TEST(Outcome, LossOnTheWayBack) {
  const auto outcome =
      judged(swept([](FlowRecord& flow) { flow.trips.resize(kRounds - 30); }), {}, kExpected);
  ASSERT_EQ(outcome.findings.size(), 1U);
  EXPECT_EQ(outcome.findings.front().direction, Direction::Receive);
  EXPECT_EQ(outcome.send->lost, 0U);
}

TEST(Outcome, ALongerWayBackIsNoLongerWayThere) {
  const auto outcome = judged(swept([](FlowRecord& flow) {
                                for (RoundTrip& trip : flow.trips) {
                                  trip.back_ns += 300'000;
                                }
                              }),
                              {}, kExpected);
  ASSERT_EQ(outcome.findings.size(), 1U);
  EXPECT_EQ(outcome.findings.front().kind, documents::FlowFault::Delay);
  EXPECT_EQ(outcome.findings.front().direction, Direction::Receive);
  EXPECT_NEAR(*outcome.findings.front().later_ms, 0.3, 0.001);
  EXPECT_NEAR(*outcome.flows[1].later_back_ms, 0.3, 0.001);
}

TEST(Outcome, AMemberThatNothingPasses) {
  const auto outcome = judged(swept([](FlowRecord& flow) {
                                flow.received_by_peer = flow.answered = 0;
                                flow.trips.clear();
                              }),
                              {}, kExpected);
  ASSERT_EQ(outcome.findings.size(), 1U);
  EXPECT_EQ(outcome.findings.front().loss_percent, 100);
  EXPECT_FALSE(outcome.flows[1].rtt_ms);
  EXPECT_EQ(outcome.flows[1].later_there_ms, std::nullopt);
}

TEST(Outcome, TheRouterOfTheMemberIsNamed) {
  std::vector<std::optional<Hops>> hops;
  for (std::size_t i = 0; i < 64; ++i) {
    hops.push_back(
        Hops{net::Address::parse(is_on_the_member(i) ? "10.0.0.2" : "10.0.0.1").value()});
  }
  const auto outcome = judged(swept([](FlowRecord& flow) {
                                flow.received_by_peer -= 30;
                                flow.answered -= 30;
                                flow.trips.resize(flow.answered);
                              }),
                              hops, kExpected);
  ASSERT_EQ(outcome.findings.size(), 1U);
  ASSERT_TRUE(outcome.findings.front().hop);
  EXPECT_EQ(outcome.findings.front().hop->address.text(), "10.0.0.2");
  EXPECT_EQ(outcome.paths.by_hops, 2U);
  EXPECT_EQ(outcome.paths.traced_flows, 64U);
}

TEST(Outcome, OfNothingNothingIsKnown) {
  SweepRecord record{.flows = std::vector<FlowRecord>(8)};
  const auto outcome = judged(record, {}, kExpected);
  EXPECT_EQ(outcome.verdict, Verdict::Unknown);
  EXPECT_NE(outcome.unknown_because, "");
  EXPECT_EQ(outcome.send->detectable_loss_percent, std::nullopt);
}

TEST(Outcome, AClockThatWrapsDoesNoHarm) {
  const auto outcome = judged(swept([](FlowRecord& flow) {
                                flow.trips[3].there_ns = INT64_MIN;
                                flow.trips[4].back_ns = INT64_MAX;
                                flow.trips[5].round = UINT32_MAX;
                                flow.trips[6].there_ns = INT64_MAX;
                                flow.trips[6].back_ns = INT64_MAX;
                              }),
                              {}, kExpected);
  EXPECT_EQ(outcome.verdict, Verdict::Alike);
}

// Flows of which every third has the member of `mbps`, the others one of 1 Gb/s.
std::vector<RateRecord> rates(double mbps) {
  std::vector<RateRecord> flows;
  for (std::size_t i = 0; i < 30; ++i) {
    const double rate = (i % 3 == 0 ? mbps : 1000) * (1 + 0.001 * static_cast<double>(i % 7));
    const Pass pass{.bytes = static_cast<std::uint64_t>(rate * 1e6 / 8), .time_ns = 1'000'000'000};
    flows.push_back({.source_port = 1, .first = pass, .second = pass});
  }
  return flows;
}

TEST(Outcome, ASlowerMember) {
  const auto outcome = judged(rates(500));
  ASSERT_EQ(outcome.findings.size(), 1U);
  const auto& finding = outcome.findings.front();
  EXPECT_EQ(outcome.verdict, Verdict::Found);
  EXPECT_EQ(finding.kind, documents::FlowFault::Rate);
  EXPECT_EQ(finding.flows, 10U);
  EXPECT_NEAR(*finding.rate_mbps, 500, 5);
  EXPECT_NEAR(*finding.others_rate_mbps, 1000, 10);
}

TEST(Outcome, RatesThatAreNearlyTheSameAreAlike) {
  EXPECT_EQ(judged(rates(1000)).verdict, Verdict::Alike);
  EXPECT_TRUE(judged(rates(800)).findings.empty());
}

TEST(Outcome, RatesThatScatterSayNothing) {
  std::vector<RateRecord> flows = rates(1000);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    flows[i].first.bytes /= 1 + i % 5;
    flows[i].second.bytes /= 1 + i % 4;
  }
  const auto outcome = judged(flows);
  EXPECT_EQ(outcome.verdict, Verdict::Unknown);
  EXPECT_TRUE(outcome.findings.empty());
}

std::vector<std::size_t> unsteady(const std::vector<RateRecord>& flows) {
  std::vector<std::optional<math::Halves>> rates;
  std::ranges::transform(flows, std::back_inserter(rates), rates_of);
  return math::unsteady_rates(rates);
}

TEST(Outcome, AFlowThatIsFastInOneOfItsTurnsHasTwoMore) {
  std::vector<RateRecord> flows = rates(500);
  EXPECT_TRUE(unsteady(flows).empty());
  flows[4].second.bytes = 0;
  flows[6].first.bytes = 0;  // of the slow member, in either turn
  EXPECT_EQ(unsteady(flows), std::vector<std::size_t>{4});
  for (std::size_t i = 0; i < flows.size(); i += 2) {
    flows[i].first.bytes = 0;
  }
  EXPECT_TRUE(unsteady(flows).empty());
}

// Such a member is found, and its flows are not left out for want of a rate.
TEST(Outcome, AMemberThatCarriesNothing) {
  std::vector<RateRecord> flows = rates(1000);
  for (std::size_t i = 0; i < flows.size(); i += 3) {
    flows[i].first.bytes = flows[i].second.bytes = 0;
  }
  const auto outcome = judged(flows);
  ASSERT_EQ(outcome.findings.size(), 1U);
  EXPECT_EQ(outcome.findings.front().flows, 10U);
  EXPECT_LT(*outcome.findings.front().rate_mbps, 2);
  EXPECT_EQ(outcome.flows[0].rate_mbps, 0);
}

TEST(Outcome, AFlowThatDidNotHaveItsTurnIsUnknown) {
  std::vector<RateRecord> flows = rates(1000);
  flows[5].second = {};
  const auto outcome = judged(flows);
  EXPECT_EQ(outcome.verdict, Verdict::Unknown);
  EXPECT_EQ(outcome.flows[5].rate_mbps, std::nullopt);
}

}  // namespace
}  // namespace chokepoint::probe::paths
