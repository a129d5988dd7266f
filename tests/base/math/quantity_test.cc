#include "base/math/quantity.h"

#include <gtest/gtest.h>

namespace chokepoint::math {
namespace {

TEST(Quantity, NumbersHaveThreeDigits) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(0.0521), "0.052");
  EXPECT_EQ(number_text(0.5), "0.50");
  EXPECT_EQ(number_text(5.213), "5.21");
  EXPECT_EQ(number_text(52.13), "52.1");
  EXPECT_EQ(number_text(5213.4), "5213");
  EXPECT_EQ(quantity_text(0.0298, "ms"), "29.8 µs");
  EXPECT_EQ(quantity_text(4, "us"), "4.00 µs");
  EXPECT_EQ(quantity_text(12.5, "percent"), "12.5 %");
  EXPECT_EQ(quantity_text(2e6, "bytes"), "2.00 MB");
  EXPECT_EQ(quantity_text(3, "retransmissions"), "3 retransmissions");
}

}  // namespace
}  // namespace chokepoint::math
