#include "base/checks/locked_memory.h"

#include <gtest/gtest.h>

namespace chokepoint::checks {
namespace {

Check locked(const host::Process& process, bool has_rdma) {
  Checks checks;
  check_locked_memory(process, has_rdma, checks);
  return checks.at(0);
}

host::Process with_limit(std::int64_t bytes) {
  host::Process process;
  process.locked_memory_bytes = host::Limit{bytes, bytes};
  process.capabilities = 0;
  return process;
}

TEST(MemoryLock, ALimitMattersWithRdmaOnly) {
  EXPECT_EQ(locked(with_limit(8 << 20), true).status, Status::Warning);
  EXPECT_EQ(locked(with_limit(8 << 20), false).status, Status::Pass);
  EXPECT_EQ(locked(with_limit(host::kUnlimited), true).status, Status::Pass);
}

TEST(MemoryLock, ItsCapabilityLiftsTheLimit) {
  host::Process process = with_limit(8 << 20);
  process.capabilities = 1ULL << static_cast<int>(host::Capability::IpcLock);
  EXPECT_EQ(locked(process, true).status, Status::Pass);
}

TEST(MemoryLock, IsUnknownWhereItMattersAndWasNotRead) {
  EXPECT_EQ(locked(host::Process(), true).status, Status::Unknown);
  EXPECT_EQ(locked(host::Process(), false).status, Status::Info);
}

}  // namespace
}  // namespace chokepoint::checks
