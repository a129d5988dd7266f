#include "probe/host/memory_checks.h"

#include <gtest/gtest.h>

#include "tests/probe/host/checked.h"

namespace chokepoint::probe {
namespace {

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

}  // namespace
}  // namespace chokepoint::probe
