#include "base/math/proportional_fit.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::math {
namespace {

constexpr int kMaxTurns = 100;
constexpr double kCloseEnough = 1e-6;

class Fit {
 public:
  Fit(GuessTable& table, std::span<const double> rows, std::span<const double> columns)
      : table_(table), rows_(rows), columns_(columns) {}

  void run() {
    fill_empty();
    for (int turn = 0; turn < kMaxTurns; ++turn) {
      const double off = scale_columns();
      scale_rows();
      if (off < kCloseEnough) {
        return;
      }
    }
  }

 private:
  double& cell(std::size_t row, std::size_t column) {
    return table_.cells[row * table_.columns + column];
  }

  double sum_of_column(std::size_t column) {
    double sum = 0;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      sum += cell(row, column);
    }
    return sum;
  }

  // What nothing is known of must still be able to grow.
  void fill_empty() {
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (columns_[column] > 0 && sum_of_column(column) <= 0) {
        for (std::size_t row = 0; row < rows_.size(); ++row) {
          cell(row, column) = rows_[row];
        }
      }
    }
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const auto first = table_.cells.begin() + static_cast<std::ptrdiff_t>(row * table_.columns);
      const auto last = first + static_cast<std::ptrdiff_t>(table_.columns);
      if (std::all_of(first, last, [](double value) { return value <= 0; })) {
        std::ranges::copy(columns_, first);
      }
    }
  }

  // By how much of its sum the worst column was off.
  double scale_columns() {
    double worst = 0;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      const double sum = sum_of_column(column);
      const double factor = sum > 0 ? columns_[column] / sum : 0;
      worst = columns_[column] > 0 ? std::max(worst, std::abs(factor - 1)) : worst;
      for (std::size_t row = 0; row < rows_.size(); ++row) {
        cell(row, column) *= factor;
      }
    }
    return worst;
  }

  void scale_rows() {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      double sum = 0;
      for (std::size_t column = 0; column < columns_.size(); ++column) {
        sum += cell(row, column);
      }
      for (std::size_t column = 0; column < columns_.size() && sum > 0; ++column) {
        cell(row, column) *= rows_[row] / sum;
      }
    }
  }

  GuessTable& table_;
  std::span<const double> rows_;
  std::span<const double> columns_;
};

}  // namespace

void fit_to_sums(GuessTable& table, std::span<const double> rows, std::span<const double> columns) {
  Fit(table, rows, columns).run();
}

}  // namespace chokepoint::math
