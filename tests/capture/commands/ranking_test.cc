#include "capture/commands/ranking.h"

#include <gmock/gmock.h>

#include "tests/capture/flow/conversation.h"

namespace chokepoint::capture {
namespace {

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
