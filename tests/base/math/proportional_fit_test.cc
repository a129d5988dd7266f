#include "base/math/proportional_fit.h"

#include <gmock/gmock.h>

#include <array>
#include <numeric>
#include <random>

namespace chokepoint::math {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

TEST(ProportionalFit, WhatFitsIsLeftAsItIs) {
  GuessTable table{.columns = 2, .cells = {1, 2, 3, 4}};
  fit_to_sums(table, std::array{3., 7.}, std::array{4., 6.});
  EXPECT_THAT(table.cells, Pointwise(testing::DoubleEq(), {1., 2., 3., 4.}));
}

TEST(ProportionalFit, NoughtsStayAndTheRestMovesIntoTheOtherColumn) {
  GuessTable table{.columns = 2, .cells = {1, 1, 1, 0}};
  fit_to_sums(table, std::array{10., 10.}, std::array{16., 4.});
  EXPECT_THAT(table.cells, Pointwise(DoubleNear(1e-4), {6., 4., 10., 0.}));
}

TEST(ProportionalFit, WhatNothingIsKnownOfIsGuessedByTheOtherSums) {
  GuessTable column{.columns = 2, .cells = {1, 0, 3, 0}};
  fit_to_sums(column, std::array{10., 30.}, std::array{20., 20.});
  EXPECT_THAT(column.cells, Pointwise(DoubleNear(1e-4), {5., 5., 15., 15.}));

  GuessTable row{.columns = 2, .cells = {0, 0, 3, 1}};
  fit_to_sums(row, std::array{4., 4.}, std::array{6., 2.});
  EXPECT_THAT(row.cells, Pointwise(DoubleNear(1e-4), {3., 1., 3., 1.}));
}

TEST(ProportionalFit, AColumnThatSumsToNothingIsEmptied) {
  GuessTable table{.columns = 2, .cells = {1, 9, 1, 9}};
  fit_to_sums(table, std::array{5., 7.}, std::array{12., 0.});
  EXPECT_THAT(table.cells, ElementsAre(5, 0, 7, 0));
}

TEST(ProportionalFit, AnyTableOfPositiveGuessesMeetsBothSums) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> some(0.01, 10);
  for (int round = 0; round < 50; ++round) {
    GuessTable table{.columns = 5, .cells = std::vector<double>(40)};
    std::ranges::generate(table.cells, [&] { return some(random); });
    std::vector<double> rows(8);
    std::ranges::generate(rows, [&] { return some(random); });
    std::vector<double> columns(5, std::reduce(rows.begin(), rows.end()) / 5);
    fit_to_sums(table, rows, columns);
    for (std::size_t column = 0; column < 5; ++column) {
      double sum = 0;
      for (std::size_t row = 0; row < 8; ++row) {
        sum += table.cells[row * 5 + column];
      }
      EXPECT_NEAR(sum, columns[column], 1e-4 * columns[column]);
    }
  }
}

}  // namespace
}  // namespace chokepoint::math
