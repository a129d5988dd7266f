#include "probe/commands/pcie_page.h"

#include <gtest/gtest.h>

#include "base/json/codec.h"
#include "tests/fakes/golden.h"
#include "tests/fakes/page.h"
#include "tests/fakes/page_rows.h"
#include "tests/probe/pcie/rates.h"

namespace chokepoint::probe {
namespace {

using pcie::kGigabyte;

constexpr host::PciLink kWide{.speed_gts = 32, .width = 16};
constexpr host::PciLink kIdle{.speed_gts = 2.5, .width = 16};
constexpr host::PciLink kNarrow{.speed_gts = 8, .width = 8};

pcie::Device slot_of(pcie::Kind kind, const std::string& address, const std::string& name,
                     int node) {
  const std::string port = address.substr(0, 10) + "01.0";
  return {.kind = kind,
          .address = address,
          .names = {name},
          .pci = {.address = address,
                  .numa_node = node,
                  .path = {{.address = port, .current = kWide, .possible = kWide},
                           {.address = address, .current = kWide, .possible = kWide}}},
          .link = kind == pcie::Kind::Gpu ? kIdle : kWide,
          .possible = kWide,
          .is_up = true};
}

pcie::GpuOutcome copies_of(int number, const std::string& address) {
  pcie::GpuOutcome outcome{.number = number,
                           .address = address,
                           .name = "NVIDIA H200",
                           .engines = 3,
                           .bytes = 512 << 20,
                           .near_node = 0,
                           .far_node = 1,
                           .pinned = {55 * kGigabyte, 56 * kGigabyte, 104 * kGigabyte},
                           .pageable = {10 * kGigabyte, 11 * kGigabyte, 12 * kGigabyte},
                           .far = {44 * kGigabyte, 45 * kGigabyte, std::nullopt},
                           .two_streams_mbps = 54 * kGigabyte};
  outcome.link = {.idle = kIdle, .best = kWide, .last = kWide, .looks = 25};
  return outcome;
}

// Two GPUs, and a NIC that its slot is too narrow for.
PcieShown two_gpus() {
  pcie::Device nic = slot_of(pcie::Kind::Nic, "0000:3b:00.0", "eth0", 1);
  nic.line_rate_mbps = 100'000;
  nic.link = nic.pci.path.back().current = kNarrow;
  PcieShown shown{
      .slots = {.devices = {slot_of(pcie::Kind::Gpu, "0000:af:00.0", "NVIDIA H200", 0),
                            slot_of(pcie::Kind::Gpu, "0000:b0:00.0", "NVIDIA H200", 1), nic},
                .numa_nodes = 2},
      .checks = {{.id = "pcie.copies",
                  .status = checks::Status::Pass,
                  .subject = "GPU 0",
                  .found = "55.0 GB/s"},
                 {.id = "pci.bandwidth",
                  .status = checks::Status::Critical,
                  .subject = "eth0",
                  .found = "57.6 Gb/s",
                  .wanted = "100 Gb/s",
                  .why = "its slot carries less than its port",
                  .next_step = "move it to a slot of 8 GT/s x16"}}};
  shown.measured =
      pcie::Measured{.gpus = {copies_of(0, "0000:af:00.0"), copies_of(1, "0000:b0:00.0")},
                     .peers = {{.one = "0000:af:00.0",
                                .other = "0000:b0:00.0",
                                .reachable = true,
                                .direct = {50 * kGigabyte, 51 * kGigabyte, 98 * kGigabyte},
                                .staged = {.there_mbps = 20 * kGigabyte}}}};
  return shown;
}

std::string page_of_pcie(const PcieShown& shown) {
  return fakes::page_of([&](const cli::Context& context) { print_page(context, shown, false); });
}

TEST(PciePage, Picture) { EXPECT_GOLDEN("probe_pcie", page_of_pcie(two_gpus())); }

TEST(PciePage, WithoutCopiesOnlyTheSlotsAreShown) {
  PcieShown shown = two_gpus();
  shown.measured.reset();
  const std::string page = page_of_pcie(shown);
  EXPECT_FALSE(fakes::row(page, "copies"));
  EXPECT_FALSE(fakes::row(page, "between GPUs"));
  EXPECT_TRUE(fakes::row(page, "nearness"));
  shown.measured = pcie::Measured{
      .problem = Error{ErrorKind::NotFound, "open", "libcuda.so.1", 0, "no such library"}};
  EXPECT_EQ(fakes::row(page_of_pcie(shown), "nothing copied:"),
            "open: libcuda.so.1: no such library");
}

TEST(PciePage, AHostWithoutDevicesHasNoTable) {
  EXPECT_FALSE(fakes::row(page_of_pcie({}), "device"));
}

TEST(PciePage, AGpuThatOnlyCudaShowsIsADeviceToo) {
  PcieShown shown{.measured = pcie::Measured{.gpus = {copies_of(0, "0000:af:00.0")}}};
  EXPECT_TRUE(fakes::row(page_of_pcie(shown), "GPU 0 NVIDIA H200  0000:af:00.0"));
}

TEST(PciePage, PcieHasItsPairsOfGpus) {
  PcieShown shown{.measured = pcie::Measured{}};
  shown.measured->peers.push_back({.one = "0000:01:00.0",
                                   .other = "0000:02:00.0",
                                   .reachable = false,
                                   .staged = {.there_mbps = 8000}});
  const json::Json document = json::to_json(document_of(shown));
  EXPECT_EQ(document["peers"].dump(),
            R"([{"a":"0000:01:00.0","b":"0000:02:00.0","peer_access":false,)"
            R"("direct":{"a_to_b_mbps":null,"b_to_a_mbps":null,"both_ways_mbps":null},)"
            R"("through_host":{"a_to_b_mbps":8000.0,"b_to_a_mbps":null,"both_ways_mbps":null},)"
            R"("verified_bytes":0,"data_errors":[],"problems":[]}])");
}

}  // namespace
}  // namespace chokepoint::probe
