#include "analysis/report/host_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/load/node_loader.h"
#include "analysis/report/report_document.h"
#include "base/host/inventory.h"
#include "base/host/pci.h"
#include "base/record/names.h"
#include "tests/analysis/made_run.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::analysis {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Optional;

class HostPictureOf : public testing::Test {
 protected:
  HostPictureOf() { made_.host("a"); }

  NodeData& node() { return made_.node("a"); }
  void fact(const char* category, const char* subject, const char* key, const char* value) {
    node().facts.push_back({.category = category, .subject = subject, .key = key, .value = value});
  }
  // The host as chokepoint would have told of it.
  void read(const std::string& fixture) {
    const auto tree = fakes::HostTree::from_fixture(fixture);
    for (const host::Fact& each : host::facts_of(host::read_inventory(tree.root()))) {
      node().facts.push_back({.category = each.category,
                              .subject = each.subject,
                              .key = each.key,
                              .value = each.value,
                              .source = each.source});
    }
    node().interfaces = interfaces_of(node().facts);
  }
  void doctor(const char* document) {
    node().probes.push_back({.kind = "doctor", .document = document});
  }
  void counter(std::string_view name, const std::vector<Reading>& readings) {
    node().series.push_back(
        {.row = {.name = std::string(name), .subject = "eth0"}, .readings = readings});
  }
  HostPicture picture() { return host_pictures(made_.data).at(0); }
  InterfacePicture interface(std::size_t place = 0) { return picture().interfaces.at(place); }
  InterfacePicture interface(const std::string& name) {
    const auto interfaces = picture().interfaces;
    return *std::ranges::find(interfaces, name, &InterfacePicture::name);
  }
  std::vector<std::string> keys(const HostPicture& host) {
    std::vector<std::string> keys;
    for (const record::Fact& each : host.facts) {
      keys.push_back(each.subject + " " + each.key + "=" + each.value);
    }
    return keys;
  }

  MadeRun made_;
};

TEST_F(HostPictureOf, IsOneANodeEvenWithoutFacts) {
  made_.host("b");
  EXPECT_EQ(host_pictures(made_.data).size(), 2);
  const json::Json document = json::to_json(host_pictures(made_.data))[0];
  EXPECT_TRUE(document["kernel"].is_null());
  EXPECT_TRUE(document["doctor"].is_null());
  EXPECT_TRUE(document["interfaces"][0]["sent_bytes"].is_null());
  EXPECT_TRUE(document["interfaces"][0]["pcie"].is_null());
  EXPECT_EQ(document["interfaces"][0]["used"], false);
}

TEST_F(HostPictureOf, CountsFromTheFirstReadingToTheLast) {
  counter(record::kNicSentBytes, {{.t_ns = 0, .value = 4e9},
                                  {.t_ns = 9, .value = 5e9, .peak = 1e6},
                                  {.t_ns = 10, .value = 7e9, .peak = 25e6}});
  counter(record::kNicReceivedBytes, {{.t_ns = 0, .value = 3}});
  EXPECT_THAT(interface().all.sent_bytes, Optional(3e9));
  EXPECT_THAT(interface().all.received_bytes, Optional(0.0));
  EXPECT_THAT(interface().peak_mbps(), Optional(200.0));
  EXPECT_FALSE(interface().all.received_peak_mbps);
  EXPECT_FALSE(interface().job.sent_bytes);
}

TEST_F(HostPictureOf, KnowsNothingOfACounterWithoutReadings) {
  counter(record::kNicSentBytes, {});
  EXPECT_FALSE(interface().all.sent_bytes);
}

TEST_F(HostPictureOf, TellsWhichInterfaceTheJobUsed) {
  node().interfaces.push_back({.name = "eth1"});
  counter(record::kJobSentBytes, {{.value = 0}, {.t_ns = 1, .value = 10}});
  EXPECT_TRUE(interface("eth0").is_used);
  EXPECT_FALSE(interface("eth1").is_used);
}

TEST_F(HostPictureOf, TellsItByConnectionsWhereNoCounterDoes) {
  made_.host("b", {.interface = "ib0"});
  made_.connect("a", "b");
  EXPECT_TRUE(interface("eth0").is_used);
  EXPECT_TRUE(host_pictures(made_.data)[1].interfaces[0].is_used);
}

TEST_F(HostPictureOf, ShowsASlotNarrowerThanItsCard) {
  read("e810-gen3-x8");
  const auto tree = fakes::HostTree::from_fixture("e810-gen3-x8");
  const auto device = host::read_pci_device(tree.root(), "0000:03:00.0");
  ASSERT_TRUE(device);
  const auto pcie = interface("enp3s0np0").pcie;
  ASSERT_TRUE(pcie);
  EXPECT_EQ(pcie->bus_id, "0000:03:00.0");
  EXPECT_THAT(pcie->speed_gts, Optional(8.0));
  EXPECT_THAT(pcie->width, Optional(8));
  EXPECT_THAT(pcie->max_speed_gts, Optional(16.0));
  EXPECT_THAT(pcie->max_width, Optional(16));
  EXPECT_THAT(pcie->ceiling_mbps, Optional(*host::ceiling_mbps(*device)));
  EXPECT_THAT(pcie->possible_mbps, Optional(DoubleNear(4 * *host::ceiling_mbps(*device), 1)));
  EXPECT_EQ(pcie->source, "facts pci 0000:03:00.0");
}

TEST_F(HostPictureOf, FindsTheNarrowHopAboveTheCard) {
  read("switch-x4");
  const auto tree = fakes::HostTree::from_fixture("switch-x4");
  const auto device = host::read_pci_device(tree.root(), "0000:43:00.0");
  for (const InterfacePicture& each : picture().interfaces) {
    if (each.pcie && each.pcie->bus_id == "0000:43:00.0") {
      EXPECT_THAT(each.pcie->ceiling_mbps, Optional(*host::ceiling_mbps(*device)));
      return;
    }
  }
  FAIL() << "no interface has that card";
}

TEST_F(HostPictureOf, PrefersWhatWasReadWhileTheJobRan) {
  read("e810-gen3-x8");
  made_.gauge(node(), record::kPcieSpeed, "enp3s0np0", 2.5);
  made_.gauge(node(), record::kPcieWidth, "enp3s0np0", 4);
  EXPECT_THAT(interface("enp3s0np0").pcie->speed_gts, Optional(2.5));
  made_.gauge(node(), record::kPcieBusySpeed, "enp3s0np0", 8);
  made_.gauge(node(), record::kPcieBusyWidth, "enp3s0np0", 2);
  EXPECT_THAT(interface("enp3s0np0").pcie->width, Optional(2));
  EXPECT_THAT(interface("enp3s0np0").pcie->ceiling_mbps,
              Optional(host::ceiling_mbps(8, 2, host::kUsualPayloadBytes)));
  EXPECT_EQ(interface("enp3s0np0").pcie->source, "series pcie.* of enp3s0np0");
}

TEST_F(HostPictureOf, ShowsGpusAsTheirDriverTellsThem) {
  read("gpu-gen1-idle");
  ASSERT_EQ(picture().gpus.size(), 1);
  const GpuPicture gpu = picture().gpus[0];
  EXPECT_EQ(gpu.name, "NVIDIA A100-PCIE-40GB");
  ASSERT_TRUE(gpu.pcie);
  EXPECT_THAT(gpu.pcie->speed_gts, Optional(2.5));
  EXPECT_THAT(gpu.pcie->max_speed_gts, Optional(16.0));
  made_.gauge(node(), record::kPcieBusySpeed, gpu.bus_id, 16);
  made_.gauge(node(), record::kPcieBusyWidth, gpu.bus_id, 16);
  EXPECT_THAT(picture().gpus[0].pcie->speed_gts, Optional(16.0));
}

TEST_F(HostPictureOf, TakesNoNonsenseForALink) {
  fact("nic", "eth0", "pci_address", "0000:03:00.0");
  fact("pci", "0000:03:00.0", "path", "0000:03:00.0");
  fact("pci", "0000:03:00.0", "speed_gts", "nan");
  fact("pci", "0000:03:00.0", "width", "-8");
  fact("pci", "0000:03:00.0", "max_speed_gts", "16 GT/s");
  fact("pci", "0000:03:00.0", "max_width", "1e300");
  EXPECT_FALSE(interface().pcie);
}

TEST_F(HostPictureOf, LeavesOutChecksWithoutAnIdAndTextsOfAnotherKind) {
  doctor(R"({"checks": [[], {"id": 7}, {"id": ""}, {"id": null}, {"id": "a", "found": 1500},
             {"id": "b", "why": ["small"]}, {"id": "c", "status": null}]})");
  ASSERT_TRUE(picture().doctor);
  ASSERT_EQ(picture().doctor->size(), 3);
  EXPECT_EQ(picture().doctor->at(0).id, "a");
  EXPECT_EQ(picture().doctor->at(0).found, "");
  EXPECT_EQ(picture().doctor->at(1).why, "");
  EXPECT_TRUE(json::to_json(std::vector{picture()})[0]["doctor"][2]["status"].is_null());
}

TEST_F(HostPictureOf, TellsTheTuningThatMatters) {
  fact("sysctl", "", "net.ipv4.tcp_congestion_control", "cubic");
  fact("sysctl", "", "net.ipv4.tcp_congestion_control", "bbr");  // looked at again
  fact("sysctl", "", "net.ipv4.ip_forward", "0");
  fact("nic", "eth0", "mtu", "9000");
  fact("nic", "eth9", "mtu", "1500");
  counter(record::kJobSentBytes, {{.value = 0}, {.t_ns = 1, .value = 10}});
  fact("environment", "", "NCCL_DEBUG", "<script>");
  EXPECT_THAT(keys(picture()), ElementsAre(" net.ipv4.tcp_congestion_control=bbr", "eth0 mtu=9000",
                                           " NCCL_DEBUG=<script>"));
  EXPECT_THAT(interface().mtu_bytes, Optional(9000));
}

TEST_F(HostPictureOf, TellsCoresThatAreSetAlikeAsOne) {
  fact("cpu", "policy0", "governor", "performance");
  fact("cpu", "policy1", "governor", "powersave");
  fact("cpu", "policy2", "governor", "performance");
  EXPECT_THAT(keys(picture()),
              ElementsAre("policy0 and 1 more governor=performance", "policy1 governor=powersave"));
}

TEST_F(HostPictureOf, ShowsWhatDoctorFoundLast) {
  doctor(R"({"checks":[{"id":"old","status":"PASS"}]})");
  doctor(R"({"checks":[{"id":"nic.mtu","status":"WARNING","subject":"eth0","found":"1500",
             "wanted":null,"why":"small","next_step":"ip link"},7,{"status":"PASS"}]})");
  doctor("{");
  doctor(R"({"checks":{}})");
  ASSERT_TRUE(picture().doctor);
  ASSERT_EQ(picture().doctor->size(), 1);
  EXPECT_EQ(picture().doctor->at(0).id, "nic.mtu");
  EXPECT_EQ(picture().doctor->at(0).wanted, "");
  const json::Json check = json::to_json(std::vector{picture()})[0]["doctor"][0];
  EXPECT_EQ(check["status"], "WARNING");
  EXPECT_TRUE(check["wanted"].is_null());
}

}  // namespace
}  // namespace chokepoint::analysis
