// Finds moments in a table of samples without going through it: these lie in the order of time,
// give or take a second, and have no index. Some twenty rows are looked at for a moment, however
// long the table is. The Reader's thread; not after the Reader.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "base/record/database.h"
#include "base/record/folding.h"
#include "base/record/row.h"
#include "base/record/samples.h"

namespace chokepoint::record {

class TimeSearch {
 public:
  // `end` is the column in which a row's end stands.
  static Result<TimeSearch> prepare(Database& database, const std::string& table,
                                    const std::string& end);

  struct Reach {
    std::int64_t first = 0;
    std::int64_t last = 0;  // less than the first where there is none
  };
  // The rowids of the first and the last row that end within a span, ends included.
  Result<Reach> reach(Span span);
  // About how many rows end before that moment.
  Result<std::int64_t> rows_before(std::int64_t t_ns);
  // Since when the rows are there in full detail, where older ones are folded.
  Result<std::optional<std::int64_t>> detail_from();

 private:
  TimeSearch(Statement forward, Statement backward, TableShape shape)
      : forward_(std::move(forward)), backward_(std::move(backward)), shape_(std::move(shape)) {}

  struct Row {
    std::int64_t id = 0;
    std::int64_t end_ns = 0;
  };
  // The first row from this rowid on, in the statement's direction, whose end pleases; `otherwise`
  // where there is none.
  template <class F>
  static Result<Row> find(Statement& rows, std::int64_t id, std::int64_t otherwise, F&& pleases);
  Result<Row> from(std::int64_t id);
  // The rowid of a row that ends at t_ns or later while the one before it does not; one past the
  // last where there is none. Rows out of order lie within their second of it.
  Result<std::int64_t> first_from(std::int64_t t_ns);

  Statement forward_;
  Statement backward_;
  TableShape shape_;
};

// Puts rows that come nearly in order into order: several producers' rows lie in the record as the
// writer drained their queues, so that one producer's may come some time after another's. A row
// that comes later than the window is passed on as it is. One thread.

constexpr std::int64_t kOrderWindowNs = 1'000'000'000;

template <class Row>
class TimeOrder {
 public:
  template <class F>
  void add(const Row& row, F& visit) {
    const std::int64_t end = end_of(row);
    newest_ = std::max(newest_, end);
    heap_.push({end, count_++, keep(row)});
    release(newest_ - kOrderWindowNs, visit);
  }

  template <class F>
  void flush(F& visit) {
    release(std::numeric_limits<std::int64_t>::max(), visit);
  }

 private:
  struct Entry {
    std::int64_t end;
    std::uint64_t arrival;  // rows of one moment stay in their order
    std::size_t slot;
    auto operator<=>(const Entry&) const = default;
  };

  std::size_t keep(const Row& row) {
    if (free_.empty()) {
      rows_.push_back(row);
      return rows_.size() - 1;
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    rows_[slot] = row;
    return slot;
  }

  template <class F>
  void release(std::int64_t until, F& visit) {
    while (!heap_.empty() && heap_.top().end <= until) {
      visit(static_cast<const Row&>(rows_[heap_.top().slot]));
      free_.push_back(heap_.top().slot);
      heap_.pop();
    }
  }

  std::vector<Row> rows_;
  std::vector<std::size_t> free_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
  std::int64_t newest_ = std::numeric_limits<std::int64_t>::min() / 2;
  std::uint64_t count_ = 0;
};

}  // namespace chokepoint::record
