#include "rdma/fabric/judgement.h"

#include <gmock/gmock.h>

namespace chokepoint::rdma::fabric {
namespace {

using testing::HasSubstr;

const std::set<std::string> kMlx5{"packet_seq_err",  "implied_nak_seq_err",
                                  "ack_timeouts",    "adaptive_retransmissions",
                                  "out_of_sequence", "duplicate_request",
                                  "out_of_buffer",   "rnr_retries",
                                  "ecn_marked",      "cnp_sent",
                                  "cnp_handled",     "received_pauses",
                                  "sent_pauses"};
const std::set<std::string> kRxe{"retransmissions",   "packet_seq_err", "out_of_sequence",
                                 "duplicate_request", "rnr_retries",    "rnr_sent",
                                 "retries_exceeded"};

Changes of(const std::set<std::string>& counted, std::map<std::string, std::uint64_t> grown = {}) {
  Changes changes{.subject = "mlx5_0/1", .netdev = "eth0", .grown = std::move(grown)};
  for (const std::string& name : counted) {
    if (!changes.grown.contains(name)) {
      changes.still.push_back(name);
    }
  }
  return changes;
}

TEST(Judge, Clean) {
  const Judgement judgement = judge(of(kMlx5), of(kMlx5, {{"sent_bytes", 1000}}));
  EXPECT_EQ(judgement.status, Status::Clean);
  EXPECT_EQ(judgement.sentence,
            "the fabric was clean: no retransmission, no packet out of sequence, no CNP, no pause");
  EXPECT_EQ(judgement.next_step, "");
}

TEST(Judge, CleanAsFarAsRxeCounts) {
  EXPECT_EQ(judge(of(kRxe), of(kRxe)).sentence,
            "the fabric was clean: no retransmission, no packet out of sequence (neither end "
            "counts a CNP or a pause)");
}

TEST(Judge, LossOnTheWayToThePeer) {
  const Judgement judgement = judge(of(kRxe, {{"retransmissions", 13}, {"packet_seq_err", 1}}),
                                    of(kRxe, {{"out_of_sequence", 11}}));
  EXPECT_EQ(judgement.status, Status::Lost);
  EXPECT_EQ(judgement.sentence,
            "packets were lost: 13 retransmissions, 1 NAK received here; 11 packets out of "
            "sequence at the peer");
  EXPECT_THAT(judgement.next_step, HasSubstr("ethtool -S eth0"));
}

TEST(Judge, LossOfMlx5WithAdaptiveRetransmission) {
  EXPECT_EQ(judge(of(kMlx5, {{"adaptive_retransmissions", 40}, {"ack_timeouts", 2}}),
                  of(kMlx5, {{"out_of_sequence", 44}, {"cnp_sent", 3}}))
                .status,
            Status::Lost);
}

// As between two busy hosts with devices in software.
TEST(Judge, SentAgainThoughNothingWasMissedIsLate) {
  const Judgement judgement =
      judge(of(kRxe, {{"retransmissions", 2}}), of(kRxe, {{"duplicate_request", 129}}));
  EXPECT_EQ(judgement.status, Status::Late);
  EXPECT_EQ(judgement.sentence,
            "nothing was lost, but packets were retransmitted, because acknowledgements came late "
            "or were lost: 2 "
            "retransmissions here; 129 requests that came twice at the peer");
}

TEST(Judge, AConnectionGivenUpIsLoss) {
  EXPECT_EQ(judge(of(kRxe, {{"retransmissions", 7}, {"retries_exceeded", 1}}), of(kRxe)).status,
            Status::Lost);
}

TEST(Judge, PacketsMissedWhereNobodyCountsRetransmissions) {
  EXPECT_EQ(judge(of({}), of({"out_of_sequence"}, {{"out_of_sequence", 3}})).status, Status::Lost);
}

TEST(Judge, OvertakenIsNotLost) {
  const Judgement judgement = judge(of(kMlx5), of(kMlx5, {{"out_of_sequence", 500}}));
  EXPECT_EQ(judgement.status, Status::Reordered);
  EXPECT_THAT(judgement.sentence, HasSubstr("none was retransmitted"));
}

TEST(Judge, AReceiverThatWasNotReadyIsNoLoss) {
  const Judgement judgement =
      judge(of(kRxe, {{"rnr_retries", 5}, {"packet_seq_err", 4}, {"retransmissions", 4}}),
            of(kRxe, {{"rnr_sent", 5}, {"out_of_sequence", 4}}));
  EXPECT_EQ(judgement.status, Status::NotReady);
  EXPECT_EQ(judgement.sentence,
            "the receiver was not ready: 5 receiver-not-readies received here; 5 "
            "receiver-not-readies sent at the peer");
}

TEST(Judge, LossBesideAFewReceiversNotReadyIsLoss) {
  EXPECT_EQ(judge(of(kRxe, {{"rnr_retries", 1}, {"packet_seq_err", 80}, {"retransmissions", 90}}),
                  of(kRxe))
                .status,
            Status::Lost);
}

TEST(Judge, Congestion) {
  const Judgement judgement = judge(of(kMlx5, {{"cnp_handled", 9}, {"received_pauses", 1}}),
                                    of(kMlx5, {{"cnp_sent", 9}, {"ecn_marked", 30}}));
  EXPECT_EQ(judgement.status, Status::Congested);
  EXPECT_EQ(judgement.sentence,
            "the fabric was congested: 9 CNPs received, 1 pause received here; 30 packets marked, "
            "9 CNPs sent at the peer; the network asked this host to wait");
}

TEST(Judge, WhatNobodyCountsIsUnknown) {
  const Judgement judgement = judge({.subject = "x0/1"}, {});
  EXPECT_EQ(judgement.status, Status::Unknown);
  EXPECT_EQ(judgement.next_step, "ls /sys/class/infiniband/x0/ports/*/hw_counters");
}

TEST(Judge, CountersThatBeganAnewAreNotClean) {
  Changes own = of(kMlx5);
  std::erase(own.still, "packet_seq_err");
  own.lost.push_back("packet_seq_err");
  const Judgement judgement = judge(own, of(kMlx5));
  EXPECT_EQ(judgement.status, Status::Unknown);
  EXPECT_THAT(judgement.sentence, HasSubstr("restarted during the test"));
}

}  // namespace
}  // namespace chokepoint::rdma::fabric
