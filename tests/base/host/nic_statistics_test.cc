#include "base/host/nic_statistics.h"

#include <gmock/gmock.h>

namespace chokepoint::host {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(StatisticNames, DriversMeanTheSame) {
  EXPECT_EQ(common_statistic("rx_prio3_pause")->name, "received_pauses");
  EXPECT_EQ(common_statistic("rx_priority_3_xoff.nic")->name, "received_pauses");
  EXPECT_EQ(common_statistic("rx_pb_7_pxoff")->name, "received_pauses");
  EXPECT_EQ(common_statistic("rx_pfc_ena_frames_pri3")->name, "received_pauses");
  EXPECT_EQ(common_statistic("tx_pfc_frames")->name, "sent_pauses");
  EXPECT_EQ(common_statistic("rx_out_of_buffer")->name, "receive_no_buffer");
  EXPECT_EQ(common_statistic("rx_queue_12_drops")->name, "receive_no_buffer");
  EXPECT_EQ(common_statistic("bw_out_allowance_exceeded")->name, "send_allowance_exceeded");
  EXPECT_FALSE(common_statistic("rx_prio3_pause_transition"));
  EXPECT_FALSE(common_statistic("rx_prio_pause"));
  EXPECT_FALSE(common_statistic(""));
}

TEST(StatisticNames, WhatTellsNothingIsPassedOver) {
  EXPECT_TRUE(is_diagnostic_statistic("rx_discards_phy"));
  EXPECT_TRUE(is_diagnostic_statistic("outbound_pci_stalled_wr_events"));
  EXPECT_TRUE(is_diagnostic_statistic("tx_timeouts"));
  EXPECT_FALSE(is_diagnostic_statistic("rx_bytes"));
  EXPECT_FALSE(is_diagnostic_statistic("tx3_xdp_drops"));
  EXPECT_FALSE(is_diagnostic_statistic("rx_csum_unnecessary"));
  EXPECT_FALSE(is_diagnostic_statistic(""));
}

TEST(CommonStatistics, OneWayIsSummedAndTheLargestWayHolds) {
  EXPECT_THAT(common_statistics({{"rx_pause_ctrl_phy", 30},
                                 {"rx_prio0_pause", 5},
                                 {"rx_prio3_pause", 20},
                                 {"tx_prio3_pause", 4},
                                 {"rx_bytes", 999},
                                 {"rx_discards_phy", -1}}),
              ElementsAre(Pair("received_pauses", 30U), Pair("sent_pauses", 4U)));
}

}  // namespace
}  // namespace chokepoint::host
