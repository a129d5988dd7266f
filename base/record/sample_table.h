// One table of samples: appends rows, and folds its oldest ones where the record has grown too
// large. Rows lie in the order of their rowids as
//
//   1 … coarsest bins … upto[2] … 10 s bins … upto[1] … 1 s bins … | full detail … last
//
// and a fold takes the oldest rows of one level, deletes them and puts the fewer, coarser rows at
// the same place, so that the order stays and the pages that come free are used again. Past the
// last level rows are given up. Used by the Store, inside its transactions and on its thread; what
// is kept here follows a rollback through revert().
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/record/fold.h"

namespace chokepoint::record {

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
  Result<Statement> append = database.prepare(insert_sql<Row>(Insert::Append));
  Result<Statement> put = database.prepare(insert_sql<Row>(Insert::Put));
  if (!append || !put) {
    return fail(append ? put.error() : append.error());
  }
  SampleTable table(std::move(*append), std::move(*put));
  if (const Result<> loaded = table.load(database); !loaded) {
    return fail(loaded.error());
  }
  return table;
}

template <class Row>
Result<> SampleTable<Row>::load(Database& database) {
  const std::string name = Table<Row>::kName;
  const Result<std::int64_t> last = database.number("SELECT max(rowid) FROM " + name);
  Result<Statement> levels =
      database.prepare("SELECT level,upto,rows FROM fold WHERE name='" + name + "'");
  if (!last || !levels) {
    return fail(last ? levels.error() : last.error());
  }
  Result<bool> row = levels->step();
  for (; row && *row; row = levels->step()) {
    std::int64_t level = 0;
    levels->read(0, level);
    if (level > 0 && level < static_cast<std::int64_t>(kLevels)) {
      levels->read(1, state_.upto.at(static_cast<std::size_t>(level)));
      levels->read(2, state_.rows.at(static_cast<std::size_t>(level)));
    }
  }
  state_.last = std::max(*last, state_.upto[1]);
  commit();
  return row ? Result<>() : fail(row.error());
}

template <class Row>
Result<typename SampleTable<Row>::Slice> SampleTable<Row>::oldest(Database& database,
                                                                  std::size_t level,
                                                                  std::int64_t most) const {
  Result<Statement> select =
      database.prepare("SELECT rowid," + column_list<Row>() + " FROM " + Table<Row>::kName +
                       " WHERE rowid>? AND rowid<=? ORDER BY rowid LIMIT ?");
  if (!select) {
    return fail(select.error());
  }
  select->bind(1, state_.upto.at(level + 1));
  select->bind(2, level == 0 ? state_.last : state_.upto.at(level));
  select->bind(3, most);
  Slice slice;
  Result<bool> row = select->step();
  for (; row && *row; row = select->step()) {
    select->read(0, slice.ids.emplace_back());
    read_row(*select, slice.rows.emplace_back(), 1);
  }
  return row ? Result<Slice>(std::move(slice)) : fail(row.error());
}

template <class Row>
Result<std::int64_t> SampleTable<Row>::fold(Database& database, std::size_t level,
                                            std::int64_t most) {
  Result<Slice> slice = oldest(database, level, most);
  if (!slice || slice->rows.empty()) {
    return slice ? Result<std::int64_t>(0) : fail(slice.error());
  }
  const bool is_last = level + 1 == kLevels;
  is_appending_ = false;
  std::vector<Row> coarser;
  if (!is_last) {
    cut_at_border(*slice, kLevelWidths.at(level + 1));
    coarser = folded(std::span<const Row>(slice->rows), kLevelWidths.at(level + 1));
    state_.upto.at(level + 1) = slice->ids.back();
    state_.rows.at(level + 1) += static_cast<std::int64_t>(coarser.size());
  }
  if (level > 0) {
    state_.rows.at(level) -= static_cast<std::int64_t>(slice->rows.size());
  }
  Result<> done = replace(database, *slice, coarser);
  if (done) {
    done = keep_state(database);
  }
  if (!done) {
    return fail(done.error());
  }
  return is_last ? static_cast<std::int64_t>(slice->rows.size()) : 0;
}

template <class Row>
Result<> SampleTable<Row>::replace(Database& database, const Slice& slice,
                                   const std::vector<Row>& coarser) {
  Result<Statement> remove = database.prepare(std::string("DELETE FROM ") + Table<Row>::kName +
                                              " WHERE rowid BETWEEN ? AND ?");
  if (!remove) {
    return fail(remove.error());
  }
  remove->bind(1, slice.ids.front());
  remove->bind(2, slice.ids.back());
  Result<> done = remove->run();
  for (std::size_t index = 0; done && index < coarser.size(); ++index) {
    done = put(slice.ids[index], coarser[index]);
  }
  return done;
}

template <class Row>
Result<> SampleTable<Row>::keep_state(Database& database) const {
  Result<Statement> keep =
      database.prepare("INSERT OR REPLACE INTO fold(name,level,upto,rows) VALUES(?,?,?,?)");
  Result<> done = keep ? Result<>() : fail(keep.error());
  for (std::size_t level = 1; done && level < kLevels; ++level) {
    keep->bind(1, std::string_view(Table<Row>::kName));
    keep->bind(2, static_cast<std::int64_t>(level));
    keep->bind(3, state_.upto.at(level));
    keep->bind(4, state_.rows.at(level));
    done = keep->run();
  }
  return done;
}

}  // namespace chokepoint::record
