#include "probe/host/memory_checks.h"

#include <gtest/gtest.h>

namespace chokepoint::probe {
namespace {

constexpr std::int64_t kGibibyte = 1LL << 30;

Checks checks_of(const host::Memory& memory) {
  Checks checks;
  check_memory(memory, checks);
  return checks;
}

TEST(MemoryFree, IsAWarningWhereLittleIsLeft) {
  host::Memory memory;
  memory.total_bytes = 100 * kGibibyte;
  memory.available_bytes = 4 * kGibibyte;
  EXPECT_EQ(checks_of(memory).at(0).status, Status::Warning);
  memory.available_bytes = 6 * kGibibyte;
  EXPECT_EQ(checks_of(memory).at(0).status, Status::Pass);
}

TEST(MemoryFree, IsUnknownWhereNotRead) {
  EXPECT_EQ(checks_of(host::Memory()).at(0).status, Status::Unknown);
}

TEST(MemoryHugePages, AreAWarningWhereMuchIsSetAsideForNobody) {
  host::Memory memory;
  memory.total_bytes = 100 * kGibibyte;
  memory.available_bytes = 50 * kGibibyte;
  memory.huge_page_bytes = kGibibyte;
  memory.free_huge_pages = 30;
  EXPECT_EQ(checks_of(memory).back().id, "memory.huge-pages");
  EXPECT_EQ(checks_of(memory).back().status, Status::Warning);
  memory.free_huge_pages = 10;
  EXPECT_EQ(checks_of(memory).size(), 1);
}

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
}  // namespace chokepoint::probe
