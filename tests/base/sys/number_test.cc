#include "base/sys/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace chokepoint::sys {
namespace {

TEST(Number, IsTheWholeText) {
  EXPECT_EQ(parse_number<std::int64_t>("-12"), -12);
  EXPECT_EQ(parse_number<double>("1.5e3"), 1500.0);
  EXPECT_EQ(parse_number<std::uint64_t>("ff", 16), 255U);
  for (const char* text : {"", "-", " 1", "1 ", "+1", "1s", "0x1", "one"}) {
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
  }
}

TEST(Number, FitsItsType) {
  EXPECT_EQ(parse_number<std::uint16_t>("65535"), 65'535);
  EXPECT_EQ(parse_number<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(parse_number<std::uint64_t>("-1"), std::nullopt);
}

TEST(Number, CannotBeNegativeWhereItCounts) {
  EXPECT_EQ(parse_non_negative<int>("0"), 0);
  EXPECT_EQ(parse_non_negative<int>("-1"), std::nullopt);
  EXPECT_EQ(parse_non_negative<int>(""), std::nullopt);
  EXPECT_EQ(parse_non_negative<double>("-0.5"), std::nullopt);
  EXPECT_EQ(parse_non_negative<double>("nan"), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::sys
