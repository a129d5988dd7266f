#include <nlohmann/json.hpp>

#include "tests/capture/counter/watching.h"

namespace chokepoint::capture::counter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class StatisticsSamplerTest : public Watching {
 protected:
  StatisticsSamplerTest() { tree_.write("/sys/class/net/eth0/device/vendor", "0x15b3"); }

  // In the driver's order.
  void answer(const nlohmann::ordered_json& statistics) const {
    tree_.write("/chokepoint/ethtool.json",
                nlohmann::ordered_json{{"eth0", {{"statistics", statistics}}}}.dump());
  }

  std::unique_ptr<Sampler> sampler_ = statistics_sampler(tree_.root());
};

TEST_F(StatisticsSamplerTest, PausesDiscardsAndStallsOfMlx5) {
  const auto at = [](int step) {
    return nlohmann::ordered_json{{"rx_packets", 5 * step},
                                  {"rx_pause_ctrl_phy", 0},
                                  {"rx_prio0_pause", 0},
                                  {"rx_prio3_pause", 100 + 7 * step},
                                  {"tx_prio3_pause", 0},
                                  {"rx_discards_phy", 9},
                                  {"outbound_pci_stalled_wr_events", 40 * step}};
  };
  answer(at(0));
  sample(sampler_);
  answer(at(1));
  sample(sampler_);
  close();
  EXPECT_THAT(counters_.values("ethtool.rx_prio3_pause", "eth0"), ElementsAre(100, 107));
  EXPECT_THAT(counters_.values("nic.received_pauses", "eth0"), ElementsAre(100, 107));
  EXPECT_THAT(counters_.values("nic.sent_pauses", "eth0"), ElementsAre(0, 0));
  EXPECT_THAT(counters_.values("nic.pci_stalls", "eth0"), ElementsAre(0, 40));
  EXPECT_THAT(counters_.values("nic.receive_discards", "eth0"), ElementsAre(9, 9));
  EXPECT_THAT(counters_.values("ethtool.rx_discards_phy", "eth0"), IsEmpty());
  EXPECT_THAT(counters_.values("ethtool.rx_packets", "eth0"), IsEmpty());
}

TEST_F(StatisticsSamplerTest, WhatADriverCountsTwiceIsCountedOnce) {
  answer({{"rx_global_pause", 50}, {"rx_pause_ctrl_phy", 50}, {"rx_prio0_pause", 3}});
  sample(sampler_);
  close();
  EXPECT_THAT(counters_.values("nic.received_pauses", "eth0"), ElementsAre(53));
}

TEST_F(StatisticsSamplerTest, ADriverThatIsSetUpAnewIsLearnedAnew) {
  answer({{"rx_queue_0_drops", 1}, {"rx_queue_1_drops", 1}});
  sample(sampler_);
  answer({{"rx_bytes", 1}, {"rx_queue_0_drops", 3}, {"rx_queue_1_drops", 1}});
  sample(sampler_);
  sample(sampler_);
  answer({});
  sample(sampler_);
  close();
  EXPECT_THAT(counters_.values("ethtool.rx_queue_0_drops", "eth0"), ElementsAre(1, 3));
  EXPECT_THAT(counters_.values("ethtool.rx_queue_1_drops", "eth0"), IsEmpty());
  EXPECT_EQ(counters_.values("nic.receive_no_buffer", "eth0").back(), 4);
}

TEST_F(StatisticsSamplerTest, WithoutADeviceOrAnAnswerThereIsNothing) {
  sample(sampler_);
  tree_.remove("/sys/class/net/eth0/device");
  sample(sampler_, 11 * kSecond);
  close();
  EXPECT_THAT(series_, IsEmpty());
}

}  // namespace
}  // namespace chokepoint::capture::counter
