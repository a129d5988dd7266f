#include "probe/host/privilege_checks.h"

#include <gtest/gtest.h>

namespace chokepoint::probe {
namespace {

using host::Capability;

host::Process with(std::initializer_list<Capability> capabilities) {
  host::Process process;
  process.capabilities = 0;
  process.program = "/opt/bin/chokepoint";
  for (const Capability one : capabilities) {
    *process.capabilities |= 1ULL << static_cast<unsigned>(one);
  }
  return process;
}

Checks checks_of(const host::Process& process) {
  Checks checks;
  check_privileges(process, host::Sysctls(), checks);
  return checks;
}

TEST(Privileges, WithoutAnyThereIsACommandForEach) {
  const Checks checks = checks_of(with({}));
  ASSERT_EQ(checks.size(), 3);
  EXPECT_EQ(checks[0].id, "privilege.capture");
  EXPECT_EQ(checks[0].status, Status::Info);
  EXPECT_EQ(checks[0].next_step, "sudo setcap cap_net_raw,cap_net_admin+ep /opt/bin/chokepoint");
  EXPECT_EQ(checks[1].id, "privilege.sockets");
  EXPECT_EQ(checks[1].status, Status::Info);
  EXPECT_EQ(checks[2].id, "privilege.bpf");
  EXPECT_EQ(checks[2].status, Status::Info);
}

TEST(Privileges, EachPassesWithItsOwn) {
  EXPECT_EQ(checks_of(with({Capability::NetRaw}))[0].status, Status::Pass);
  EXPECT_EQ(checks_of(with({Capability::NetAdmin}))[1].status, Status::Info);
  EXPECT_EQ(checks_of(with({Capability::NetAdmin, Capability::SysPtrace}))[1].status, Status::Pass);
  EXPECT_EQ(checks_of(with({Capability::Bpf, Capability::Perfmon}))[2].status, Status::Pass);
  EXPECT_EQ(checks_of(with({Capability::Bpf}))[2].status, Status::Info);
  EXPECT_EQ(checks_of(with({Capability::SysAdmin}))[2].status, Status::Pass);
}

TEST(Privileges, NotReadIsUnknown) {
  const Checks checks = checks_of(host::Process());
  ASSERT_EQ(checks.size(), 1);
  EXPECT_EQ(checks[0].status, Status::Unknown);
}

TEST(OpenFiles, FewAreInfo) {
  host::Process process = with({});
  process.open_files = host::Limit{1024, 4096};
  EXPECT_EQ(checks_of(process).back().id, "limit.open-files");
  EXPECT_EQ(checks_of(process).back().status, Status::Info);
  process.open_files = host::Limit{host::kUnlimited, host::kUnlimited};
  EXPECT_EQ(checks_of(process).back().status, Status::Pass);
}

}  // namespace
}  // namespace chokepoint::probe
