#include <gtest/gtest.h>

#include <algorithm>

#include "base/cli/output.h"
#include "probe/commands/commands.h"
#include "tests/fakes/cli_run.h"
#include "tests/fakes/golden.h"
#include "tests/fakes/host_tree.h"
#include "tests/fakes/page_rows.h"

namespace chokepoint::probe {
namespace {

using cli::ExitCode;
using cli::Json;
using fakes::CliRun;

CliRun doctor(const fakes::HostTree& host, std::vector<std::string> flags = {}) {
  const cli::Program program{.name = "chokepoint",
                             .version = "0",
                             .purpose = "",
                             .sections = cli::one_section({doctor_command()})};
  flags.insert(flags.begin(), {"doctor", "--root", host.root().folder().string()});
  return fakes::run_cli(program, flags);
}

TEST(Doctor, PictureWithTheWorstFirst) {
  const CliRun run = doctor(fakes::HostTree::from_fixture("e810-gen3-x8"));
  EXPECT_EQ(run.code, ExitCode::Found);
  EXPECT_GOLDEN("doctor", run.out);
}

TEST(Doctor, AllShowsWhatPassedToo) {
  const CliRun run = doctor(fakes::HostTree::from_fixture("e810-gen3-x8"), {"--all"});
  EXPECT_NE(run.out.find("nic.rings"), std::string::npos);
  EXPECT_FALSE(fakes::row(run.out, "also")) << "nothing is left out";
}

TEST(Doctor, TheDocumentHoldsEveryCheckAndItsVerdictIsTheWorst) {
  const Json document =
      Json::parse(doctor(fakes::HostTree::from_fixture("e810-gen3-x8"), {"--json"}).out);
  EXPECT_EQ(document["schema"], "chokepoint.doctor/1");
  EXPECT_EQ(document["verdict"], "CRITICAL");
  for (const Json& check : document["checks"]) {
    EXPECT_FALSE(check["why"].get<std::string>().empty()) << check;
    EXPECT_TRUE(check["found"].is_null() || check["found"] != "") << "unknown is null";
  }
}

TEST(Doctor, WarningsAreFailuresOnlyWhenStrict) {
  const auto host = fakes::HostTree::from_fixture("mgmt-1g-fabric-100g");
  EXPECT_EQ(doctor(host).code, ExitCode::Done);
  EXPECT_EQ(doctor(host, {"--strict"}).code, ExitCode::Found);
  EXPECT_EQ(doctor(fakes::HostTree::from_fixture("e810-gen3-x8"), {"--exit-code"}).code,
            ExitCode::Found);
}

TEST(Doctor, AHealthyHostHasNothingToMend) {
  const CliRun run = doctor(fakes::HostTree::from_fixture("healthy"), {"--strict"});
  EXPECT_EQ(run.code, ExitCode::Done);
  EXPECT_FALSE(fakes::row(run.out, "do"));
}

TEST(Doctor, ASchedulersReasonIsOneLineOrNone) {
  const CliRun run = doctor(fakes::HostTree::from_fixture("e810-gen3-x8"), {"--summary"});
  EXPECT_EQ(run.code, ExitCode::Found);
  EXPECT_EQ(std::ranges::count(run.out, '\n'), 1);
  EXPECT_NE(run.out.find("pci.bandwidth"), std::string::npos);
  EXPECT_EQ(doctor(fakes::HostTree::from_fixture("healthy"), {"--summary"}).out, "");
}

TEST(Doctor, RdmaDevicesAreJudgedTooAndASlotOnce) {
  const Json document =
      Json::parse(doctor(fakes::HostTree::from_fixture("rdma-irdma"), {"--json"}).out);
  const auto checks_of = [&](const char* id) {
    return std::ranges::count_if(document["checks"],
                                 [&](const Json& check) { return check["id"] == id; });
  };
  EXPECT_EQ(checks_of("pci.bandwidth"), 1);
  EXPECT_EQ(checks_of("rdma.flow-control"), 1);
}

}  // namespace
}  // namespace chokepoint::probe
