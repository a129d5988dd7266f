#include "capture/observer/analyser.h"

#include <gtest/gtest.h>

#include "capture/observer/recorder.h"
#include "tests/capture/roce/sender.h"

namespace chokepoint::capture::observer {
namespace {

class RoceFlow : public testing::Test {
 protected:
  void take(const packet::Packet& made) {
    packet::Packet packet = made;
    packet.ends.source_port = 50'000;
    analyser_.take(packet);
  }

  packet::Packet nak(std::uint32_t psn) {
    return made_.made(roce::kAck, psn, 0, {.syndrome = 0x60});
  }

  record::FlowTotal total() const { return total_of(1, 0, analyser_.engine().facts(0)); }

  roce::Sender made_;

 private:
  CaptureProgress progress_;
  GlooLedger ledger_;
  Analyser analyser_{{}, progress_, ledger_, nullptr};
};

TEST_F(RoceFlow, KeepsWhatItsQueuePairsSayOfLoss) {
  take(made_.made(roce::kWriteFirst, 10, roce::kMtu));
  take(made_.made(roce::kWriteMiddle, 12, roce::kMtu));
  take(made_.made(roce::kWriteMiddle, 13, roce::kMtu));
  const packet::Packet again = made_.made(roce::kWriteMiddle, 12, roce::kMtu);
  take(made_.made(roce::kWriteMiddle, 11, roce::kMtu));
  take(again);
  take(made_.made(roce::kWriteLast, 13, roce::kMtu));
  EXPECT_EQ(total().packets.value(), 6);
  EXPECT_EQ(total().retransmitted_packets.value(), 2);
  EXPECT_EQ(total().retransmitted_bytes.value(), 2 * std::int64_t{again.payload_bytes});
  EXPECT_EQ(total().out_of_order.value(), 1) << "number 11 was lost before the tap";
  EXPECT_EQ(total().duplicate_acks.value(), 0);
}

TEST_F(RoceFlow, KeepsComplaintsOfAMissingPacket) {
  take(nak(10));
  take(made_.made(roce::kAck, 11));
  take(nak(12));
  EXPECT_EQ(total().duplicate_acks.value(), 2);
  EXPECT_EQ(total().retransmitted_packets.value(), 0);
}

TEST_F(RoceFlow, WithoutLossHasNone) {
  for (std::uint32_t psn = 0; psn < 100; ++psn) {
    take(made_.made(roce::kSendOnly, psn, 64));
  }
  EXPECT_EQ(total().retransmitted_packets.value(), 0);
  EXPECT_EQ(total().out_of_order.value(), 0);
  EXPECT_FALSE(total().fast_retransmissions.known()) << "only TCP's are told apart";
}

}  // namespace
}  // namespace chokepoint::capture::observer
