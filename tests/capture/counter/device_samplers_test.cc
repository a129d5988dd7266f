#include "base/record/names.h"
#include "tests/capture/counter/watching.h"

namespace chokepoint::capture::counter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PcieSamplerTest : public Watching {
 protected:
  PcieSamplerTest() {
    tree_.link("/sys/class/net/eth0/device", "../../../bus/pci/devices/0000:3b:00.0");
    tree_.write("/sys/class/net/lo/operstate", "unknown");
    tree_.write("/sys/bus/pci/devices/0000:af:00.0/vendor", "0x10de");
    tree_.write("/sys/bus/pci/devices/0000:af:00.0/class", "0x030200");
    train("0000:3b:00.0", "16.0 GT/s PCIe", "8");
    train("0000:af:00.0", "2.5 GT/s PCIe", "16");
  }

  void train(const std::string& address, const std::string& speed, const std::string& width) const {
    const std::string folder = "/sys/bus/pci/devices/" + address;
    tree_.write(folder + "/current_link_speed", speed + "\n");
    tree_.write(folder + "/current_link_width", width + "\n");
  }

  std::unique_ptr<Sampler> sampler_ = pcie_sampler(tree_.root());
};

TEST_F(PcieSamplerTest, ALinkIsToldWhenItIsTrainedAnew) {
  sample(sampler_);
  sample(sampler_);
  train("0000:3b:00.0", "8.0 GT/s PCIe", "4");
  sample(sampler_);
  close();
  EXPECT_THAT(gauges_.values("pcie.speed_gts", "eth0"), ElementsAre(16, 8));
  EXPECT_THAT(gauges_.values("pcie.width", "eth0"), ElementsAre(8, 4));
  EXPECT_EQ(gauges_.values("pcie.ceiling_mbps", "eth0").size(), 2U);
  EXPECT_THAT(gauges_.values("pcie.busy_width", "eth0"), IsEmpty());
}

TEST_F(PcieSamplerTest, AGpusLinkUnderLoadStandsApart) {
  sample(sampler_);
  Share& load = sink().share({std::string(record::kGpuUtilization), "0000:af:00.0"}, 1);
  load.see(clock_.monotonic_ns(), kSecond, 97);
  train("0000:af:00.0", "16.0 GT/s PCIe", "16");
  sample(sampler_);
  load.see(clock_.monotonic_ns(), kSecond, 0);
  train("0000:af:00.0", "2.5 GT/s PCIe", "16");
  sample(sampler_);
  close();
  EXPECT_THAT(gauges_.values("pcie.speed_gts", "0000:af:00.0"), ElementsAre(2.5, 16, 2.5));
  EXPECT_THAT(gauges_.values("pcie.busy_speed_gts", "0000:af:00.0"), ElementsAre(16));
}

TEST_F(PcieSamplerTest, ANicIsBusyByItsBytes) {
  Counter& sent = sink().counter({std::string(record::kNicSentBytes), "eth0"});
  sent.see(clock_.monotonic_ns(), 0);
  clock_.advance(kSecond);
  sent.see(clock_.monotonic_ns(), 500'000'000);
  sample(sampler_);
  close();
  EXPECT_THAT(gauges_.values("pcie.busy_width", "eth0"), ElementsAre(8));
}

}  // namespace
}  // namespace chokepoint::capture::counter
