#include "tests/lab/wire/orders.h"

#include <gtest/gtest.h>

namespace chokepoint::lab {
namespace {

std::vector<Fate> fates(OrderBook& book, int frames) {
  std::vector<Fate> found;
  for (int frame = 0; frame < frames; ++frame) {
    found.push_back(book.next());
  }
  return found;
}

TEST(Orders, AreCarriedOutAtTheirNumbersAndCounted) {
  OrderBook book({.drop = {2}, .duplicate = {4}, .reorder = {{.number = 3, .behind = 5}}});
  EXPECT_EQ(fates(book, 5),
            (std::vector{Fate::Pass, Fate::Drop, Fate::HoldBack, Fate::Duplicate, Fate::Pass}));
  EXPECT_EQ(book.held_until(), 8U);
  EXPECT_EQ(book.obeyed().dropped, 1U);
  EXPECT_EQ(book.obeyed().duplicated, 1U);
  EXPECT_EQ(book.obeyed().held_back, 1U);
}

TEST(Orders, CountAnewWhenTheyAreGivenAgain) {
  OrderBook book({.drop = {1}});
  EXPECT_EQ(fates(book, 2), (std::vector{Fate::Drop, Fate::Pass}));
  book.change({.drop = {1}});
  EXPECT_EQ(fates(book, 2), (std::vector{Fate::Drop, Fate::Pass}));
  EXPECT_EQ(book.obeyed().dropped, 2U);
  book.change({});
  EXPECT_TRUE(book.empty());
}

}  // namespace
}  // namespace chokepoint::lab
