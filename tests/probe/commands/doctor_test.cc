#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cli/output.h"
#include "probe/commands/commands.h"
#include "tests/fakes/cli_run.h"
#include "tests/fakes/golden.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::probe {
namespace {

using cli::ExitCode;
using cli::Json;
using fakes::CliRun;
using testing::HasSubstr;
using testing::Not;

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
  EXPECT_THAT(run.out, HasSubstr("nic.rings"));
  EXPECT_THAT(run.out, Not(HasSubstr("also")));
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
  EXPECT_THAT(run.out, Not(HasSubstr("          do ")));
}

}  // namespace
}  // namespace chokepoint::probe
