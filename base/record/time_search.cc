#include "base/record/time_search.h"

namespace chokepoint::record {

Result<TimeSearch> TimeSearch::prepare(Database& database, const std::string& table,
                                       const std::string& end) {
  const std::string select = "SELECT rowid," + end + " FROM " + table;
  Result<TableShape> shape = TableShape::read(database, table);
  Result<Statement> forward = database.prepare(select + " WHERE rowid>=? ORDER BY rowid");
  Result<Statement> backward = database.prepare(select + " WHERE rowid<=? ORDER BY rowid DESC");
  if (!shape || !forward || !backward) {
    return fail(!shape ? shape.error() : !forward ? forward.error() : backward.error());
  }
  return TimeSearch(std::move(*forward), std::move(*backward), std::move(*shape));
}

template <class F>
Result<TimeSearch::Row> TimeSearch::find(Statement& rows, std::int64_t id, std::int64_t otherwise,
                                         F&& pleases) {
  rows.bind(1, id);
  Row row;
  Result<bool> found = rows.step();
  for (; found && *found; found = rows.step()) {
    rows.read(0, row.id);
    rows.read(1, row.end_ns);
    if (pleases(row.end_ns)) {
      break;
    }
  }
  rows.reset();
  if (!found) {
    return fail(found.error());
  }
  return *found ? row : Row{.id = otherwise};
}

Result<TimeSearch::Row> TimeSearch::from(std::int64_t id) {
  return find(forward_, id, shape_.last() + 1, [](std::int64_t) { return true; });
}

Result<std::int64_t> TimeSearch::first_from(std::int64_t t_ns) {
  // Rows before `low` end too early, the one at `high` does not. Rowids have gaps.
  std::int64_t low = shape_.first();
  std::int64_t high = shape_.last() + 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    TRY(const Row row, from(middle));
    if (row.id > shape_.last() || row.end_ns >= t_ns) {
      high = middle;
    } else {
      low = row.id + 1;
    }
  }
  return low;
}

Result<TimeSearch::Reach> TimeSearch::reach(Span span) {
  const Result<std::int64_t> begin = first_from(span.start_ns - kOrderWindowNs);
  const Result<std::int64_t> end = first_from(span.end_ns + kOrderWindowNs + 1);
  if (!begin || !end) {
    return fail(begin ? end.error() : begin.error());
  }
  const Result<Row> first = find(forward_, *begin, shape_.last() + 1,
                                 [&](std::int64_t end_ns) { return end_ns >= span.start_ns; });
  const Result<Row> last =
      find(backward_, *end, 0, [&](std::int64_t end_ns) { return end_ns <= span.end_ns; });
  if (!first || !last) {
    return fail(first ? last.error() : first.error());
  }
  return Reach{first->id, last->id};
}

Result<std::int64_t> TimeSearch::rows_before(std::int64_t t_ns) {
  const Result<std::int64_t> place = first_from(t_ns);
  return place ? Result<std::int64_t>(shape_.rows_before(*place)) : fail(place.error());
}

Result<std::optional<std::int64_t>> TimeSearch::detail_from() {
  using Moment = std::optional<std::int64_t>;
  if (!shape_.is_folded()) {
    return Moment();
  }
  TRY(const Row row, from(shape_.first_in_detail()));
  return row.id <= shape_.last() ? Moment(row.end_ns) : Moment();
}

}  // namespace chokepoint::record
