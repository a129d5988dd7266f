// Finds moments in a table of samples without going through it: these lie in the order of time,
// give or take a second, and have no index. Some twenty rows are looked at for a moment, however
// long the table is. The Reader's thread; not after the Reader.
#pragma once

#include <optional>
#include <string>

#include "base/record/database.h"
#include "base/record/span.h"
#include "base/record/table_shape.h"

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

}  // namespace chokepoint::record
