#include "base/host/inventory.h"

#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

TEST(Inventory, TheRunningHostIsReadInTime) {
  const auto start = std::chrono::steady_clock::now();
  const Inventory inventory = read_inventory(sys::Root());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_TRUE(inventory.kernel.release);
  for (const Fact& fact : facts_of(inventory)) {
    EXPECT_FALSE(fact.source.empty()) << fact.category << ' ' << fact.key;
  }
}

TEST(Inventory, AnEmptyRootIsReadWithoutAnyFact) {
  EXPECT_TRUE(facts_of(read_inventory(fakes::HostTree::from_text("").root())).empty());
}

}  // namespace
}  // namespace chokepoint::host
