#include <gmock/gmock.h>

#include <algorithm>

#include "base/cli/output.h"
#include "rdma/commands/commands.h"
#include "rdma/commands/device_listing.h"
#include "tests/fakes/cli_run.h"
#include "tests/fakes/golden.h"
#include "tests/fakes/host_tree.h"
#include "tests/rdma/fakes/fabric.h"

namespace chokepoint::rdma {
namespace {

using cli::ExitCode;
using cli::Json;
using fakes::CliRun;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

CliRun devices(const fakes::HostTree& host, std::vector<std::string> flags = {}) {
  const cli::Program program{.name = "chokepoint",
                             .version = "0",
                             .purpose = "",
                             .sections = cli::one_section({devices_command()})};
  flags.insert(flags.begin(), {"rdma", "devices", "--root", host.root().folder().string()});
  return fakes::run_cli(program, flags);
}

CliRun of(const char* fixture, std::vector<std::string> flags = {}) {
  return devices(fakes::HostTree::from_fixture(fixture), std::move(flags));
}

Json check_of(const Json& document, const char* id) {
  const auto found = std::ranges::find_if(document["checks"],
                                          [&](const Json& check) { return check["id"] == id; });
  return found == document["checks"].end() ? Json::object() : *found;
}

TEST(RdmaDevices, PictureOfAMlx5) {
  const CliRun run = of("rdma-mlx5");
  EXPECT_EQ(run.code, ExitCode::Done);
  EXPECT_GOLDEN("rdma_devices", run.out);
}

TEST(RdmaDevices, AsADocument) {
  const Json document = Json::parse(of("rdma-mlx5", {"--json"}).out);
  EXPECT_EQ(document["schema"], "chokepoint.rdma-devices/1");
  EXPECT_EQ(document["locked_memory_limit_bytes"], nullptr);
  const Json& device = document["devices"][0];
  EXPECT_EQ(device["pci_link"]["width"], 8);
  EXPECT_EQ(device["pci_link"]["max_width"], 16);
  const Json& port = device["ports"][0];
  EXPECT_EQ(port["rate_mbps"], 100'000);
  EXPECT_EQ(port["usable_gid_index"], 3);
  EXPECT_EQ(port["active_mtu_bytes"], nullptr);
  EXPECT_EQ(port["possible_mtu_bytes"], 4096);
  EXPECT_EQ(port["pfc_priorities"], Json::array({3}));
  EXPECT_EQ(port["gids"].size(), 4U);
}

TEST(RdmaDevices, ANarrowSlotLockedMemoryAndNoFlowControl) {
  EXPECT_EQ(of("rdma-irdma", {"--exit-code"}).code, ExitCode::Found);
  const Json document = Json::parse(of("rdma-irdma", {"--json"}).out);
  EXPECT_EQ(check_of(document, "pci.bandwidth")["status"], "CRITICAL");
  EXPECT_EQ(check_of(document, "rdma.flow-control")["status"], "WARNING");
  EXPECT_EQ(check_of(document, "memory.lock")["status"], "WARNING");
  EXPECT_EQ(of("rdma-irdma").code, ExitCode::Done) << "it lists";
}

TEST(RdmaDevices, TheFirstVersionOfRoceAlone) {
  const Json document = Json::parse(of("rdma-bnxt", {"--json"}).out);
  const Json check = check_of(document, "rdma.gid");
  EXPECT_EQ(check["status"], "WARNING");
  EXPECT_NE(check["next_step"].get<std::string>().find("cma_roce_mode -d bnxt_re0"),
            std::string::npos);
  EXPECT_EQ(document["devices"][0]["ports"][0]["usable_gid_index"], nullptr);
}

TEST(RdmaDevices, OneInSoftware) {
  const CliRun run = of("rdma-rxe");
  EXPECT_TRUE(run.out.starts_with("rxe0  in software")) << run.out;
  const Json document = Json::parse(of("rdma-rxe", {"--json"}).out);
  EXPECT_EQ(document["locked_memory_limit_bytes"], 8'388'608);
  EXPECT_EQ(document["devices"][0]["pci_link"], nullptr);
  const Json& port = document["devices"][0]["ports"][0];
  EXPECT_EQ(port["pfc_priorities"], nullptr);
  EXPECT_EQ(port.at("rate_mbps"), nullptr) << port["rate"];
}

TEST(RdmaDevices, NoneIsSaidPlainly) {
  const auto host = fakes::HostTree::from_text("/sys/class/infiniband/\n");
  const CliRun run = devices(host);
  EXPECT_EQ(run.code, ExitCode::Done);
  EXPECT_NE(run.out.find("rdma link add rxe0"), std::string::npos);
  EXPECT_EQ(Json::parse(devices(host, {"--json"}).out)["devices"], Json::array());
}

TEST(RdmaDevices, OneThatIsNotThere) {
  const CliRun run = of("rdma-mlx5", {"mlx5_7"});
  EXPECT_EQ(run.code, ExitCode::Failed);
  EXPECT_THAT(run.err, AllOf(HasSubstr("mlx5_7"), HasSubstr("mlx5_0")));
}

TEST(RdmaDevices, WhatADriverCallsItselfMovesNoCursor) {
  const auto host = fakes::HostTree::from_text(
      "/sys/class/infiniband/x/fw_ver = \x1b[2J1.0\n"
      "/sys/class/infiniband/x/ports/1/state = 4: \x1b[2J\n");
  EXPECT_THAT(devices(host).out, Not(HasSubstr("\x1b[2J")));
}

fakes::FakeDevice small_mtu() {
  fakes::FakeDevice device = fakes::fake_device("mlx5_0");
  device.port.active_mtu_bytes = 1024;
  return device;
}

TEST(Listing, TheMtuInForceIsTheDevicesOwn) {
  fakes::FakeFabric fabric({small_mtu()});
  const auto library = fabric.library();
  const auto host = fakes::HostTree::from_fixture("rdma-mlx5");
  const DeviceListing listing = read_listing(host.root(), "", library.get());
  EXPECT_EQ(listing.devices.at(0).ports.at(0).active_mtu_bytes, 1024);
  const auto mtu = std::ranges::find(listing.checks, "rdma.mtu", &checks::Check::id);
  ASSERT_NE(mtu, listing.checks.end());
  EXPECT_EQ(mtu->status, checks::Status::Warning);
}

TEST(Listing, ADeviceThatCannotBeOpenedLeavesItUnknown) {
  fakes::FakeFabric fabric({fakes::fake_device("other")});
  const auto library = fabric.library();
  const auto host = fakes::HostTree::from_fixture("rdma-mlx5");
  const DeviceListing listing = read_listing(host.root(), "", library.get());
  EXPECT_EQ(listing.devices.at(0).ports.at(0).active_mtu_bytes, std::nullopt);
}

}  // namespace

}  // namespace chokepoint::rdma
