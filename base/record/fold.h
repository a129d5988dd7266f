// Folding: the rows of one key that fall into one bin become one row, column by column as tables.h
// declares. A row belongs to the bin in which it ends, and its span afterwards is exactly what the
// rows together covered, so rates stay right whatever the bins are. Pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <span>
#include <vector>

#include "base/record/row.h"

namespace chokepoint::record {

inline bool known(double value) { return !std::isnan(value); }
inline bool known(Figure value) { return value.known(); }
inline bool known(std::int64_t) { return true; }

inline std::int64_t plain(std::int64_t value) { return value; }
inline std::int64_t plain(Figure value) { return value.value(); }
inline double plain(double value) { return value; }

// Of two values of which at least one is known.
template <class T, class F>
T joined(const T& first, const T& second, F&& join) {
  if (!known(first) || !known(second)) {
    return known(first) ? first : second;
  }
  return T(join(plain(first), plain(second)));
}

template <class T>
T weighted_mean(const T& first, std::int64_t first_weight, const T& second,
                std::int64_t second_weight) {
  return joined(first, second, [&](auto left, auto right) {
    const double sum = static_cast<double>(left) * static_cast<double>(first_weight) +
                       static_cast<double>(right) * static_cast<double>(second_weight);
    const double mean = sum / static_cast<double>(first_weight + second_weight);
    if constexpr (std::is_same_v<T, double>) {
      return mean;
    } else {
      return static_cast<std::int64_t>(std::llround(mean));
    }
  });
}

template <class Row>
std::int64_t busy_of(const Row& row) {
  return row.busy_ns.value_or(end_of(row) - start_of(row));
}

// `second` is the later one, or as late.
template <class Row>
Row combined(const Row& first, const Row& second) {
  Row sum = first;
  const auto combine = [&]<class T>(const Field<Row, T>& field) {
    const T& left = first.*(field.member);
    const T& right = second.*(field.member);
    T& result = sum.*(field.member);
    if constexpr (std::is_enum_v<T>) {
      result = field.fold == Fold::Last ? right : left;
    } else {
      switch (field.fold) {
        case Fold::Start:
        case Fold::Min:
          result = joined(left, right, [](auto a, auto b) { return std::min(a, b); });
          break;
        case Fold::End:
        case Fold::Max:
          result = joined(left, right, [](auto a, auto b) { return std::max(a, b); });
          break;
        case Fold::Span:
          result = T(std::max(end_of(first), end_of(second)) -
                     std::min(start_of(first), start_of(second)));
          break;
        case Fold::Busy:
          if constexpr (requires { first.busy_ns; }) {
            result = T(busy_of(first) + busy_of(second));
          }
          break;
        case Fold::Merged:
        case Fold::Sum:
          result = joined(left, right, [](auto a, auto b) { return a + b; });
          break;
        case Fold::Last:
          result = known(right) ? right : left;
          break;
        case Fold::Mean:
          result = weighted_mean(left, first.merged, right, second.merged);
          break;
        case Fold::None:
        case Fold::Key:
          break;
      }
    }
  };
  each_field<Row>(combine);
  return sum;
}

inline std::int64_t key_part(std::int64_t value) { return value; }
inline std::int64_t key_part(double value) { return std::bit_cast<std::int64_t>(value); }
inline std::int64_t key_part(Figure value) { return value.value(); }
template <class T>
  requires std::is_enum_v<T>
std::int64_t key_part(T value) {
  return static_cast<std::int64_t>(value);
}

// The bin in which a row ends; a row that ends on a border ends the bin before it.
inline std::int64_t bin_of(std::int64_t end_ns, std::int64_t width_ns) {
  return (end_ns - 1) / width_ns;
}

constexpr std::size_t kMostKeys = 4;
using FoldKey = std::array<std::int64_t, kMostKeys + 1>;

template <class Row>
FoldKey fold_key(const Row& row, std::int64_t width_ns) {
  FoldKey key{bin_of(end_of(row), width_ns)};
  std::size_t next = 1;
  each_field<Row>([&](const auto& field) {
    if (field.fold == Fold::Key) {
      key.at(next++) = key_part(row.*(field.member));
    }
  });
  return key;
}

// Rows in the order in which they were measured; the result is ordered by time.
template <class Row>
std::vector<Row> folded(std::span<const Row> rows, std::int64_t width_ns) {
  std::map<FoldKey, Row> bins;
  for (const Row& row : rows) {
    const auto [bin, is_new] = bins.try_emplace(fold_key(row, width_ns), row);
    if (!is_new) {
      bin->second = end_of(row) < end_of(bin->second) ? combined(row, bin->second)
                                                      : combined(bin->second, row);
    }
  }
  std::vector<Row> result;
  result.reserve(bins.size());
  for (const auto& [key, row] : bins) {
    result.push_back(row);
  }
  std::ranges::sort(result, {}, [](const Row& row) { return end_of(row); });
  return result;
}

}  // namespace chokepoint::record
