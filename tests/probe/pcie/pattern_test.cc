#include "probe/pcie/pattern.h"

#include <gtest/gtest.h>

#include <vector>

namespace chokepoint::probe::pcie {
namespace {

class Pattern : public testing::TestWithParam<std::size_t> {};

TEST_P(Pattern, EveryByteThatChangesIsFound) {
  std::vector<std::byte> bytes(GetParam());
  fill_pattern(bytes, 7);
  EXPECT_EQ(difference(bytes, 7), std::nullopt);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] ^= std::byte{0x10};
    EXPECT_EQ(difference(bytes, 7), at);
    bytes[at] ^= std::byte{0x10};
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Pattern, testing::Values(1, 7, 8, 9, 64, 1003));

TEST(Pattern, OfAnotherSeedOrOfNothingIsDifferent) {
  std::vector<std::byte> bytes(4096);
  EXPECT_TRUE(difference(bytes, 1));
  fill_pattern(bytes, 1);
  EXPECT_TRUE(difference(bytes, 2));
}

TEST(Pattern, MovedByAWordIsDifferent) {
  std::vector<std::byte> bytes(4096);
  fill_pattern(bytes, 1);
  EXPECT_TRUE(difference(std::span(bytes).subspan(8), 1));
}

}  // namespace
}  // namespace chokepoint::probe::pcie
