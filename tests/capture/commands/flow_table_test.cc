#include "capture/commands/flow_table.h"

#include <gmock/gmock.h>

#include "tests/capture/flow/conversation.h"

namespace chokepoint::capture {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

flow::FlowFacts plain_flow() {
  flow::FlowFacts facts;
  facts.ends.source.words[1] = facts.ends.destination.words[1] = 0x0100000affff0000;
  facts.ends.source_port = 40'000;
  facts.ends.destination_port = 80;
  facts.handshake_seen = true;
  facts.directions[0].packets = 1'000;
  facts.directions[1].packets = 500;
  return facts;
}

TEST(FlowWords, NothingIsRemarkableOfAFlowThatRunsWell) {
  EXPECT_THAT(anomalies_of(plain_flow()), IsEmpty());
}

TEST(FlowWords, TellWhatWasSentAgainAndWhy) {
  flow::FlowFacts facts = plain_flow();
  facts.directions[0].retransmitted_packets = 8;
  facts.directions[0].retransmissions = {.fast = 6, .timeout = 2, .spurious = 1};
  EXPECT_THAT(anomalies_of(facts), ElementsAre("-> resent 0.8 % (fast), 1 of them needless"));
}

TEST(FlowWords, TellEachDirectionByItself) {
  flow::FlowFacts facts = plain_flow();
  facts.directions[0].busy_s = 10;
  facts.directions[0].window_limited_s = 4;
  facts.directions[1].zero_windows = 3;
  EXPECT_THAT(anomalies_of(facts),
              ElementsAre("-> window full 40 % of the busy time", "<- closed its window 3×"));
}

TEST(FlowWords, TellWhatCouldNotBeSeen) {
  flow::FlowFacts facts = plain_flow();
  facts.handshake_seen = false;
  EXPECT_THAT(anomalies_of(facts), ElementsAre("handshake not seen: window scale unknown"));
  facts.directions[1].packets = 0;
  EXPECT_THAT(anomalies_of(facts), ElementsAre("only one direction was seen"));
}

TEST(FlowWords, EndsThatAreTooLongLoseTheirFront) {
  EXPECT_EQ(ends_text(plain_flow(), 64), "10.0.0.1:40000 > 10.0.0.1:80");
  EXPECT_EQ(ends_text(plain_flow(), 8), "…1:40000 > ….0.1:80");
}

// Flows of one engine, of the n-th n segments from port n on.
flow::Engine engine_with(std::uint16_t flows) {
  flow::Conversation conversation;
  for (std::uint16_t number = 1; number <= flows; ++number) {
    conversation.client.port = number;
    conversation.handshake();
    for (std::uint32_t segment = 0; segment < number; ++segment) {
      conversation.wait_us(100);
      conversation.data(segment * 1'460U);
    }
  }
  return std::move(conversation.engine);
}

std::vector<int> ports(const std::vector<RankedFlow>& flows) {
  std::vector<int> list;
  for (const RankedFlow& flow : flows) {
    list.push_back(flow.facts.ends.source_port);
  }
  return list;
}

TEST(Ranking, TheHeaviestComeFirstAndNoMoreThanAsked) {
  const flow::Engine engine = engine_with(50);
  std::vector<RankedFlow> flows;
  rank(engine, 0, {.sort = SortBy::Bytes, .most = 3, .rates = lifetime_rates}, flows);
  EXPECT_THAT(ports(flows), testing::ElementsAre(50, 49, 48));
}

TEST(Ranking, EnginesAreRankedTogether) {
  const flow::Engine few = engine_with(3);
  const flow::Engine many = engine_with(5);
  std::vector<RankedFlow> flows;
  const RankBy by{.sort = SortBy::Bytes, .most = 4, .rates = lifetime_rates};
  rank(few, 0, by, flows);
  rank(many, 1, by, flows);
  EXPECT_THAT(ports(flows), testing::ElementsAre(5, 4, 3, 3));
  EXPECT_EQ(flows[2].analyser, 0U);
}

TEST(Ranking, NoneAreWantedAndNoneCome) {
  const flow::Engine engine = engine_with(3);
  std::vector<RankedFlow> flows;
  rank(engine, 0, {.most = 0, .rates = lifetime_rates}, flows);
  EXPECT_TRUE(flows.empty());
}

TEST(Ranking, NamesAndOrdersAgree) {
  EXPECT_EQ(sort_named("rate"), SortBy::Rate);
  EXPECT_EQ(sort_named("rtt"), SortBy::Rtt);
}

}  // namespace
}  // namespace chokepoint::capture
