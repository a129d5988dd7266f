#include "capture/commands/flow_words.h"

#include <gmock/gmock.h>

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
  EXPECT_THAT(remarkable(plain_flow()), IsEmpty());
}

TEST(FlowWords, TellWhatWasSentAgainAndWhy) {
  flow::FlowFacts facts = plain_flow();
  facts.directions[0].retransmitted_packets = 8;
  facts.directions[0].retransmissions = {.fast = 6, .timeout = 2, .spurious = 1};
  EXPECT_THAT(remarkable(facts), ElementsAre("-> resent 0.8 % (fast), 1 of them needless"));
}

TEST(FlowWords, TellEachDirectionByItself) {
  flow::FlowFacts facts = plain_flow();
  facts.directions[0].busy_s = 10;
  facts.directions[0].window_limited_s = 4;
  facts.directions[1].zero_windows = 3;
  EXPECT_THAT(remarkable(facts),
              ElementsAre("-> window full 40 % of the busy time", "<- closed its window 3×"));
}

TEST(FlowWords, TellWhatCouldNotBeSeen) {
  flow::FlowFacts facts = plain_flow();
  facts.handshake_seen = false;
  EXPECT_THAT(remarkable(facts), ElementsAre("handshake not seen: window scale unknown"));
  facts.directions[1].packets = 0;
  EXPECT_THAT(remarkable(facts), ElementsAre("only one direction was seen"));
}

TEST(FlowWords, EndsThatAreTooLongLoseTheirFront) {
  EXPECT_EQ(ends_words(plain_flow(), 64), "10.0.0.1:40000 > 10.0.0.1:80");
  EXPECT_EQ(ends_words(plain_flow(), 8), "…1:40000 > ….0.1:80");
}

}  // namespace
}  // namespace chokepoint::capture
