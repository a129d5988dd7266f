#include "analysis/load/purposes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::analysis {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using traffic::Purpose;

// Of a node that has 10.0.0.1, sent and received.
FlowTraffic flow(const std::string& peer, std::int64_t port, const std::string& content,
                 double sent, double received) {
  return {.row = {.protocol = "tcp",
                  .a_address = "10.0.0.1",
                  .a_port = 50'000,
                  .b_address = peer,
                  .b_port = port,
                  .local_end = 0,
                  .content = content,
                  .job = 1},
          .bytes = {sent, received}};
}

class Purposes : public testing::Test {
 protected:
  std::vector<PurposeVolume> all(double sent, double received) {
    for (const FlowTraffic& each : flows_) {
      ranks_.add(each.row);
    }
    return purposes_of(flows_, ranks_, {.sent_bytes = sent, .received_bytes = received});
  }

  std::vector<FlowTraffic> flows_;
  RankPlaces ranks_;
};

TEST_F(Purposes, SumToWhatTheJobSent) {
  flows_ = {flow("10.0.0.2", 40'000, "gloo", 700, 600), flow("10.0.0.9", 9'000, "http", 200, 10),
            flow("10.0.0.2", 40'001, "gloo", 50, 60)};
  const auto found = all(1'000, 700);
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[0].purpose, Purpose::Collectives);
  EXPECT_EQ(found[0].volume.sent_bytes, 750);
  EXPECT_EQ(found[0].connections, 2);
  EXPECT_EQ(found[1].purpose, Purpose::Storage);
  EXPECT_EQ(found[2].purpose, Purpose::Unknown);
  EXPECT_EQ(found[2].volume.sent_bytes, 50);
  EXPECT_EQ(found[2].volume.received_bytes, 30);
  EXPECT_EQ(found[2].connections, 0);
}

TEST_F(Purposes, HttpToARankIsWeights) {
  flows_ = {flow("10.0.0.2", 40'000, "gloo", 1, 1), flow("10.0.0.2", 8'000, "http", 1, 1),
            flow("10.0.0.9", 8'000, "http", 1, 1)};
  const auto found = all(3, 3);
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[1].purpose, Purpose::Storage);
  EXPECT_EQ(found[2].purpose, Purpose::Weights);
}

TEST_F(Purposes, RanksMeetAtTheirMasterPort) {
  ranks_.add(record::Fact{
      .category = "environment", .subject = "ranks", .key = "MASTER_PORT", .value = "31337"});
  flows_ = {flow("10.0.0.2", 31'337, "", 10, 10), flow("10.0.0.2", 40'000, "gloo", 10, 10)};
  EXPECT_EQ(all(20, 20)[1].purpose, Purpose::Rendezvous);
}

TEST_F(Purposes, OthersAndCopiesThroughMemoryAreLeftOut) {
  FlowTraffic others = flow("10.0.0.9", 443, "tls", 1e9, 1e9);
  others.row.job = {};
  FlowTraffic within = flow("10.0.0.1", 40'000, "gloo", 1e9, 1e9);
  within.row.local_end = {};
  flows_ = {others, within};
  EXPECT_THAT(all(10, 10), IsEmpty());
}

TEST_F(Purposes, ARecordWithoutContentsHasNone) {
  flows_ = {flow("10.0.0.9", 443, "", 5, 5)};
  EXPECT_THAT(all(5, 5), IsEmpty());
}

}  // namespace
}  // namespace chokepoint::analysis
