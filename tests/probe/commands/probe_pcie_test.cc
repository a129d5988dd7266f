#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/cli/output.h"
#include "probe/commands/kinds.h"
#include "tests/fakes/cli_run.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::probe {
namespace {

using cli::ExitCode;
using cli::Json;

fakes::CliRun pcie_of(const char* fixture, std::vector<std::string> flags = {}) {
  const auto host = fakes::HostTree::from_fixture(fixture);
  const cli::Program program{.name = "chokepoint",
                             .version = "0",
                             .purpose = "",
                             .sections = cli::one_section({pcie_command()})};
  flags.insert(flags.begin(), {"probe", "pcie", "--root", host.root().folder().string()});
  return fakes::run_cli(program, flags);
}

TEST(ProbePcie, ANicInANarrowSlotIsCritical) {
  const fakes::CliRun run = pcie_of("e810-gen3-x8", {"--json", "--exit-code"});
  EXPECT_EQ(run.code, ExitCode::Found);
  const Json document = Json::parse(run.out);
  const auto found = std::ranges::find_if(
      document["devices"], [](const Json& device) { return device["line_rate_mbps"] == 100'000; });
  ASSERT_NE(found, document["devices"].end());
  const Json& nic = *found;
  EXPECT_EQ(nic["kind"], "nic");
  EXPECT_EQ(nic["link"],
            (Json{{"speed_gts", 8.0}, {"width", 8}, {"max_speed_gts", 8.0}, {"max_width", 8}}));
  EXPECT_NEAR(nic["ceiling_mbps"].get<double>(), 57'614, 1);
  EXPECT_EQ(nic["host_to_device_mbps"], nullptr);
  EXPECT_EQ(document["verdict"], "CRITICAL");
  EXPECT_EQ(pcie_of("e810-gen3-x8").code, ExitCode::Done) << "unless it is asked for";
}

TEST(ProbePcie, TheSwitchsNarrowLinkIsTheOneThatCounts) {
  const Json document = Json::parse(pcie_of("switch-x4", {"--json"}).out);
  const Json& nic = document["devices"][0];
  EXPECT_LT(nic["ceiling_mbps"].get<double>(), nic["line_rate_mbps"].get<double>());
  EXPECT_NE(pcie_of("switch-x4").out.find("16 GT/s x4 above it"), std::string::npos);
}

TEST(ProbePcie, NearnessBelowSwitchesAndTheNicOfEachGpu) {
  const Json document = Json::parse(pcie_of("pcie-switch", {"--json"}).out);
  std::map<std::pair<std::string, std::string>, std::string> nearness;
  for (const Json& pair : document["affinity"]) {
    nearness[{pair["a"], pair["b"]}] = pair["affinity"];
  }
  EXPECT_EQ((nearness[{"0000:af:00.0", "0000:b0:00.0"}]), "PIX");
  EXPECT_EQ((nearness[{"0000:af:00.0", "0000:b4:00.0"}]), "PXB");
  EXPECT_EQ(document["devices"][0]["hops"].size(), 4U);
  for (const Json& device : document["devices"]) {
    if (device["kind"] == "gpu") {
      EXPECT_EQ(device["nics"][0]["names"], Json::array({"ens1np0"})) << device["bus_id"];
    }
  }
}

TEST(ProbePcie, NearnessOfTwoSockets) {
  const std::string page = pcie_of("pcie-two-sockets").out;
  EXPECT_NE(page.find("\nGPU 1     SYS    X      SYS"), std::string::npos) << page;
}

TEST(ProbePcie, ARootWithoutDevicesHasNone) {
  const auto host = fakes::HostTree::from_text("/proc/uptime = 1\n");
  const cli::Program program{.name = "chokepoint",
                             .version = "0",
                             .purpose = "",
                             .sections = cli::one_section({pcie_command()})};
  const fakes::CliRun run =
      fakes::run_cli(program, {"probe", "pcie", "--root", host.root().folder().string(), "--json"});
  EXPECT_EQ(Json::parse(run.out)["devices"], Json::array());
}

}  // namespace
}  // namespace chokepoint::probe
