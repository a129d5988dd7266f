// Folding: the rows of one key that fall into one bin become one row, column by column as tables.h
// declares. A row belongs to the bin in which it ends, and its span afterwards is exactly what the
// rows together covered, so rates stay right whatever the bins are. Pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/record/database.h"
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

constexpr std::size_t kMaxKeys = 4;
using FoldKey = std::array<std::int64_t, kMaxKeys + 1>;

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

// How many rows of a table of samples lie where, without counting them: the writer notes what its
// folding leaves (see sample_table.h). A value.

class TableShape {
 public:
  static Result<TableShape> read(Database& database, const std::string& table);

  std::int64_t first() const { return first_; }  // rowid
  std::int64_t last() const { return last_; }
  // Exact in full detail; among folded rows, whose rowids have gaps, about.
  std::int64_t rows_before(std::int64_t rowid) const;
  // Behind the last row that was folded.
  std::int64_t first_in_detail() const { return folds_.empty() ? 0 : folds_.back().last + 1; }
  bool is_folded() const { return !folds_.empty(); }

 private:
  // Coarsest first; each begins behind the one before.
  struct Fold {
    std::int64_t last = 0;  // rowid
    std::int64_t rows = 0;
  };

  std::int64_t first_ = 1;
  std::int64_t last_ = 0;
  std::vector<Fold> folds_;
};

// One table of samples: appends rows, and folds its oldest ones where the record has grown too
// large. Rows lie in the order of their rowids as
//
//   1 … coarsest bins … upto[2] … 10 s bins … upto[1] … 1 s bins … | full detail … last
//
// and a fold takes the oldest rows of one level, deletes them and puts the fewer, coarser rows at
// the same place, so that the order stays and the pages that come free are used again. Past the
// last level rows are given up. Used by the Store, inside its transactions and on its thread; what
// is kept here follows a rollback through revert().

constexpr std::int64_t kSecond = 1'000'000'000;
// Level 0 is full detail.
constexpr std::array<std::int64_t, 6> kLevelWidths{
    0, kSecond, 10 * kSecond, 60 * kSecond, 600 * kSecond, 3600 * kSecond};
constexpr std::size_t kLevels = kLevelWidths.size();
// How the room is shared between the levels.
constexpr std::array<std::int64_t, kLevels> kLevelShares{8, 4, 4, 2, 1, 1};

template <class Row>
class SampleTable {
 public:
  static Result<SampleTable> open(Database& database);

  Result<> append(const Row& row) {
    ++state_.last;
    if (!is_appending_) {
      is_appending_ = true;
      return put(state_.last, row);
    }
    bind_row(append_, row, 1);
    return append_.run();
  }

  // About what a level takes, over its share of the room: the table and level with the largest
  // weight is folded first.
  std::int64_t weight(std::size_t level) const {
    return rows(level) * static_cast<std::int64_t>(kFieldCount<Row>) / kLevelShares.at(level);
  }
  std::int64_t rows(std::size_t level) const {
    return level == 0 ? state_.last - state_.upto[1] : state_.rows.at(level);
  }

  // Folds the oldest rows of a level, `most` at most. Gives the number of rows given up for good.
  Result<std::int64_t> fold(Database& database, std::size_t level, std::int64_t most);

  void commit() { saved_ = state_; }
  void revert() {
    state_ = saved_;
    is_appending_ = false;
  }

 private:
  struct State {
    std::int64_t last = 0;                         // newest rowid
    std::array<std::int64_t, kLevels + 1> upto{};  // newest rowid of each level, from level 1
    std::array<std::int64_t, kLevels> rows{};      // from level 1
  };
  struct Slice {
    std::vector<std::int64_t> ids;
    std::vector<Row> rows;
  };

  SampleTable(Statement append, Statement put) : append_(std::move(append)), put_(std::move(put)) {}
  Result<> put(std::int64_t id, const Row& row) {
    put_.bind(1, id);
    bind_row(put_, row, 2);
    return put_.run();
  }
  Result<> load(Database& database);
  Result<Slice> oldest(Database& database, std::size_t level, std::int64_t most) const;
  Result<> replace(Database& database, const Slice& slice, const std::vector<Row>& coarser);
  Result<> keep_state(Database& database) const;

  Statement append_;
  Statement put_;
  State state_;
  State saved_;
  // The row with the newest rowid is there, so that SQLite gives the next one by itself, which is
  // faster. After a fold the newest may be gone.
  bool is_appending_ = false;
};

// Leaves an unfinished last bin to the next slice, unless the slice is all one bin.
template <class Slice>
void cut_at_border(Slice& slice, std::int64_t width_ns) {
  const std::int64_t last_bin = bin_of(end_of(slice.rows.back()), width_ns);
  std::size_t keep = slice.rows.size();
  while (keep > 0 && bin_of(end_of(slice.rows[keep - 1]), width_ns) >= last_bin) {
    --keep;
  }
  if (keep > 0) {
    slice.rows.resize(keep);
    slice.ids.resize(keep);
  }
}

template <class Row>
Result<SampleTable<Row>> SampleTable<Row>::open(Database& database) {
  TRY(Statement append, database.prepare(insert_sql<Row>(Insert::Append)));
  TRY(Statement put, database.prepare(insert_sql<Row>(Insert::Put)));
  SampleTable table(std::move(append), std::move(put));
  TRY(table.load(database));
  return table;
}

template <class Row>
Result<> SampleTable<Row>::load(Database& database) {
  const std::string name = Fields<Row>::kTable;
  TRY(const std::int64_t last, database.number("SELECT max(rowid) FROM " + name));
  TRY(Statement levels,
      database.prepare("SELECT level,upto,rows FROM fold WHERE name='" + name + "'"));
  TRY(levels.each([&] {
    std::int64_t level = 0;
    levels.read(0, level);
    if (level > 0 && level < static_cast<std::int64_t>(kLevels)) {
      levels.read(1, state_.upto.at(static_cast<std::size_t>(level)));
      levels.read(2, state_.rows.at(static_cast<std::size_t>(level)));
    }
  }));
  state_.last = std::max(last, state_.upto[1]);
  commit();
  return {};
}

template <class Row>
Result<typename SampleTable<Row>::Slice> SampleTable<Row>::oldest(Database& database,
                                                                  std::size_t level,
                                                                  std::int64_t most) const {
  TRY(Statement select,
      database.prepare("SELECT rowid," + column_list<Row>() + " FROM " + Fields<Row>::kTable +
                       " WHERE rowid>? AND rowid<=? ORDER BY rowid LIMIT ?"));
  select.bind(1, state_.upto.at(level + 1));
  select.bind(2, level == 0 ? state_.last : state_.upto.at(level));
  select.bind(3, most);
  Slice slice;
  TRY(select.each([&] {
    select.read(0, slice.ids.emplace_back());
    read_row(select, slice.rows.emplace_back(), 1);
  }));
  return slice;
}

template <class Row>
Result<std::int64_t> SampleTable<Row>::fold(Database& database, std::size_t level,
                                            std::int64_t most) {
  TRY(Slice slice, oldest(database, level, most));
  if (slice.rows.empty()) {
    return 0;
  }
  const bool is_last = level + 1 == kLevels;
  is_appending_ = false;
  std::vector<Row> coarser;
  if (!is_last) {
    cut_at_border(slice, kLevelWidths.at(level + 1));
    coarser = folded(std::span<const Row>(slice.rows), kLevelWidths.at(level + 1));
    state_.upto.at(level + 1) = slice.ids.back();
    state_.rows.at(level + 1) += static_cast<std::int64_t>(coarser.size());
  }
  if (level > 0) {
    state_.rows.at(level) -= static_cast<std::int64_t>(slice.rows.size());
  }
  TRY(replace(database, slice, coarser));
  TRY(keep_state(database));
  return is_last ? static_cast<std::int64_t>(slice.rows.size()) : 0;
}

template <class Row>
Result<> SampleTable<Row>::replace(Database& database, const Slice& slice,
                                   const std::vector<Row>& coarser) {
  TRY(Statement remove, database.prepare(std::string("DELETE FROM ") + Fields<Row>::kTable +
                                         " WHERE rowid BETWEEN ? AND ?"));
  remove.bind(1, slice.ids.front());
  remove.bind(2, slice.ids.back());
  TRY(remove.run());
  for (std::size_t index = 0; index < coarser.size(); ++index) {
    TRY(put(slice.ids[index], coarser[index]));
  }
  return {};
}

template <class Row>
Result<> SampleTable<Row>::keep_state(Database& database) const {
  TRY(Statement keep,
      database.prepare("INSERT OR REPLACE INTO fold(name,level,upto,rows) VALUES(?,?,?,?)"));
  for (std::size_t level = 1; level < kLevels; ++level) {
    keep.bind(1, std::string_view(Fields<Row>::kTable));
    keep.bind(2, static_cast<std::int64_t>(level));
    keep.bind(3, state_.upto.at(level));
    keep.bind(4, state_.rows.at(level));
    TRY(keep.run());
  }
  return {};
}

}  // namespace chokepoint::record
