// SQL text, binding and reading of a row, generated from its Fields. Templates only.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/record/database.h"
#include "base/record/tables.h"
#include "base/sys/ranks.h"

namespace chokepoint::record {

template <class Row>
std::string column_list() {
  std::string list;
  each_field<Row>(
      [&](const auto& field) { list += (list.empty() ? "" : ",") + std::string(field.name); });
  return list;
}

enum class Insert {
  Append,   // a new row at the end
  Put,      // a new row at the rowid that is the first parameter
  Replace,  // in the place of the row with the same key
};

template <class Row>
std::string insert_sql(Insert how) {
  const bool is_put = how == Insert::Put;
  std::string marks = is_put ? "?,?" : "?";
  for (std::size_t count = 1; count < kFieldCount<Row>; ++count) {
    marks += ",?";
  }
  return std::string(how == Insert::Replace ? "INSERT OR REPLACE INTO " : "INSERT INTO ") +
         Fields<Row>::kTable + "(" + (is_put ? "rowid," : "") + column_list<Row>() + ") VALUES(" +
         marks + ")";
}

template <class Row>
void bind_row(Statement& statement, const Row& row, int first) {
  each_field<Row>([&](const auto& field) { statement.bind(first++, row.*(field.member)); });
}

// Ranks that no job has are unknown.
template <class Row>
void forget_impossible_ranks(Row& row) {
  const auto keep = [](Figure& figure, bool is_one) { figure = is_one ? figure : Figure(); };
  if constexpr (requires { row.rank; }) {
    keep(row.rank, sys::is_rank(row.rank.value()));
  }
  if constexpr (requires { row.world_size; }) {
    keep(row.local_rank, sys::is_rank(row.local_rank.value()));
    keep(row.world_size, sys::is_world_size(row.world_size.value()));
  }
}

template <class Row>
void read_row(const Statement& statement, Row& row, int first) {
  each_field<Row>([&](const auto& field) { statement.read(first++, row.*(field.member)); });
  forget_impossible_ranks(row);
}

// What a clock or a counter shows. A moment or a span: a packet's time, by the wall clock, until
// 2079; what is computed back from a reading may lie some days before the clock's beginning. So any
// difference of two, and the sum of two such differences, are numbers, too; as are the sum of three
// counts and the difference of two.
constexpr std::int64_t kMostNs = 3LL << 60;
constexpr std::int64_t kLeastNs = -(1LL << 50);
constexpr std::int64_t kMostNumber = 1LL << 61;

struct NumberBounds {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

constexpr NumberBounds bounds_of(std::string_view column) {
  // Between two clocks.
  if (column == "offset_ns" || column == "shift_ns") {
    return {-kMostNs, kMostNs};
  }
  if (column.ends_with("_ns")) {
    return {kLeastNs, kMostNs};
  }
  // Readers multiply them by a thousand.
  return column.ends_with("_us") ? NumberBounds{kLeastNs / 1000, kMostNs / 1000}
                                 : NumberBounds{-kMostNumber, kMostNumber};
}

// The bounds of a row's columns, in their order; keys have none, as some are hashes.
template <class Row>
auto bounds_of_columns() {
  std::array<NumberBounds, kFieldCount<Row>> bounds{};
  std::size_t place = 0;
  each_field<Row>([&](const auto& field) {
    bounds.at(place++) = field.fold == Fold::Key
                             ? NumberBounds{std::numeric_limits<std::int64_t>::min(),
                                            std::numeric_limits<std::int64_t>::max()}
                             : bounds_of(field.name);
  });
  return bounds;
}

inline bool is_within(std::int64_t value, NumberBounds bounds) {
  return value <= bounds.most && value >= bounds.least;
}
inline bool is_within(Figure value, NumberBounds bounds) {
  return !value.known() || is_within(value.value(), bounds);
}
template <class T>
bool is_within(const T& /*text, real number or name*/, NumberBounds /*bounds*/) {
  return true;
}

// An Error where a column's number is out of range.
template <class Row>
Result<> check_range(const Row& row) {
  // GCC overlooks uses that only some rows have.
  [[maybe_unused]] static const auto bounds = bounds_of_columns<Row>();
  std::size_t place = 0;
  const char* wrong = nullptr;
  each_field<Row>([&](const auto& field) {
    wrong = is_within(row.*(field.member), bounds[place++]) ? wrong : field.name;
  });
  return wrong == nullptr ? Result<>()
                          : fail(ErrorKind::Malformed, "record", "",
                                 std::string("a number in ") + Fields<Row>::kTable + "." + wrong +
                                     " is out of range");
}

// Moves the times of a row; see Session::shift_ns.
template <class Row>
void shift_times(Row& row, std::int64_t shift_ns) {
  each_field<Row>([&](const auto& field) {
    if (field.fold == Fold::Start || field.fold == Fold::End) {
      auto& value = row.*(field.member);
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, Figure>) {
        value = value.known() ? Figure(value.value() + shift_ns) : value;
      } else if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, std::int64_t>) {
        value += shift_ns;
      }
    }
  });
}

// What a row takes in memory, and about what it takes on disk.
template <class Row>
std::size_t size_of(const Row& row) {
  std::size_t size = sizeof(Row);
  each_field<Row>([&](const auto& field) {
    const auto& value = row.*(field.member);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>) {
      size += value.size();
    }
  });
  return size;
}

// The column of end_of(), which is the first of its kind.
template <class Row>
std::string end_column() {
  std::string column;
  each_field<Row>([&](const auto& field) {
    column = field.fold == Fold::End && column.empty() ? field.name : column;
  });
  return column;
}

template <class Row>
std::int64_t end_of(const Row& row) {
  if constexpr (requires { row.end_ns; }) {
    return row.end_ns;
  } else {
    return row.t_ns;
  }
}

template <class Row>
std::int64_t start_of(const Row& row) {
  if constexpr (requires { row.start_ns; }) {
    return row.start_ns;
  } else {
    return row.t_ns - row.bin_ns;
  }
}

}  // namespace chokepoint::record
