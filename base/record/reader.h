// Reads one node's record, also while it is being written, after its writer was killed, from a
// folder that cannot be written to, and as far as it goes where the file has been cut short.
// Nothing in the record's folder is changed. One thread at a time.
//
// The file is not trusted: its schema is checked, the work of a statement and what is taken
// into memory are bounded by its size (database.h), and a row with a number that no clock or
// counter shows ends the reading with an Error.
//
//   reader.each<SocketSample>([&](const SocketSample& sample) { … });
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/record/database.h"
#include "base/record/entities.h"
#include "base/record/folding.h"
#include "base/record/opening.h"
#include "base/record/row.h"
#include "base/record/samples.h"

namespace chokepoint::record {

// Finds moments in a table of samples without going through it: these lie in the order of time,
// give or take a second, and have no index. Some twenty rows are looked at for a moment, however
// long the table is. The Reader's thread; not after the Reader.

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
// A second of the busiest writer has far fewer rows; from there on they are passed on as they come.
constexpr std::size_t kMaxRowsHeld = 1 << 19;

template <class Row>
class TimeOrder {
 public:
  template <class F>
  void add(const Row& row, F& visit) {
    const std::int64_t end = end_of(row);
    newest_ = std::max(newest_, end);
    heap_.push({end, count_++, keep(row)});
    release(newest_ - kOrderWindowNs, visit);
    if (heap_.size() > kMaxRowsHeld) {
      release(heap_.top().end, visit);
    }
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

// While it lives a Reader sees the record as it was, whatever is written meanwhile, and asks less
// of the file system. The writer's log grows as long, so it is for moments. Not after the Reader.
class Snapshot {
 public:
  explicit Snapshot(Database& database) : database_(&database) {}
  Snapshot(Snapshot&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Snapshot& operator=(Snapshot&&) = delete;
  ~Snapshot() {
    if (database_ != nullptr) {
      database_->rollback();
    }
  }

 private:
  Database* database_;
};

class Reader {
 public:
  static Result<Reader> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  // As the last session named it; the file's name where none did.
  const std::string& node() const { return node_; }
  const std::vector<Session>& sessions() const { return sessions_; }
  // Set where the file is not whole: what is read then is what is left.
  const std::optional<Error>& damage() const { return damage_; }

  // Since 1970, by the clock anchor before that moment.
  std::int64_t wall_ns(std::int64_t t_ns) const;

  Result<Snapshot> snapshot();

  // Visits samples in the order of their ends; see time_order.h. Nothing is allocated a row.
  template <class Row, class F>
  Result<> each(F&& visit);
  // Visits the samples that end within any of these spans, their ends included, without reading
  // much else. The spans are in order and apart; the samples come as they lie in the record, which
  // is out of order by a second at most. A visitor may give a bool: false ends the visit.
  template <class Row, class F>
  Result<> each_in(const std::vector<Span>& spans, F&& visit);
  // Where moments lie in the table of these samples.
  template <class Row>
  Result<TimeSearch> search();
  // The rows of a table that is small.
  template <class Row>
  Result<std::vector<Row>> all();
  template <class Row>
  Result<std::int64_t> count();

 private:
  Reader(std::filesystem::path path, Database database, std::optional<PrivateFolder> copy,
         std::optional<Error> damage);
  Result<> load();
  template <class Row>
  Result<Statement> select(const std::string& condition = "");
  // What rows of a table may take in memory together.
  std::int64_t most_bytes_in_memory() const;
  static Error too_large(const std::string& table);
  std::unexpected<Error> failed(Error error) const;

  std::filesystem::path path_;
  std::optional<PrivateFolder> copy_;
  Database database_;
  std::optional<Error> damage_;
  std::string node_;
  std::vector<Session> sessions_;
  std::vector<ClockAnchor> anchors_;
};

template <class Row>
Result<Statement> Reader::select(const std::string& condition) {
  return database_.prepare("SELECT " + column_list<Row>() + " FROM " + Fields<Row>::kTable +
                           condition);
}

template <class Row>
Result<TimeSearch> Reader::search() {
  Result<TimeSearch> search =
      TimeSearch::prepare(database_, Fields<Row>::kTable, end_column<Row>());
  return search ? std::move(search) : failed(search.error());
}

template <class Row, class F>
Result<> Reader::each(F&& visit) {
  Result<Statement> statement = select<Row>();
  if (!statement) {
    return failed(statement.error());
  }
  TimeOrder<Row> order;
  Row value;
  Result<> in_range;
  Result<bool> row = statement->step();
  for (; row && *row; row = statement->step()) {
    read_row(*statement, value, 0);
    if (in_range = check_range(value); !in_range) {
      break;
    }
    // The end of a cut page reads as zeros.
    if (!damage_ || end_of(value) != 0) {
      order.add(value, visit);
    }
  }
  order.flush(visit);
  return !row ? failed(row.error()) : !in_range ? failed(in_range.error()) : Result<>();
}

template <class Row, class F>
Result<> Reader::each_in(const std::vector<Span>& spans, F&& visit) {
  Result<TimeSearch> search = this->search<Row>();
  Result<Statement> statement = select<Row>(" WHERE rowid BETWEEN ? AND ? ORDER BY rowid");
  if (!search || !statement) {
    return failed(search ? statement.error() : search.error());
  }
  Row value;
  for (const Span& span : spans) {
    // Behind a cut there are zeros, among which no moment can be searched.
    const Result<TimeSearch::Reach> reach =
        damage_ ? TimeSearch::Reach{0, std::numeric_limits<std::int64_t>::max()}
                : search->reach(span);
    if (!reach) {
      return failed(reach.error());
    }
    statement->reset();
    statement->bind(1, reach->first);
    statement->bind(2, reach->last);
    Result<bool> row = statement->step();
    for (; row && *row; row = statement->step()) {
      read_row(*statement, value, 0);
      if (const Result<> in_range = check_range(value); !in_range) {
        return failed(in_range.error());
      }
      const std::int64_t end = end_of(value);
      if (end >= span.start_ns && end <= span.end_ns && (!damage_ || end != 0)) {
        if constexpr (std::is_same_v<std::invoke_result_t<F&, const Row&>, bool>) {
          if (!visit(static_cast<const Row&>(value))) {
            return {};
          }
        } else {
          visit(static_cast<const Row&>(value));
        }
      }
    }
    if (!row) {
      return failed(row.error());
    }
  }
  return {};
}

template <class Row>
Result<std::vector<Row>> Reader::all() {
  Result<Statement> statement = select<Row>();
  if (!statement) {
    return failed(statement.error());
  }
  std::vector<Row> rows;
  std::int64_t left = most_bytes_in_memory();
  Result<bool> row = statement->step();
  for (; row && *row; row = statement->step()) {
    Row& value = rows.emplace_back();
    read_row(*statement, value, 0);
    if (const Result<> in_range = check_range(value); !in_range) {
      return failed(in_range.error());
    }
    left -= static_cast<std::int64_t>(size_of(value));
    if (left < 0) {
      return failed(too_large(Fields<Row>::kTable));
    }
  }
  return row ? Result<std::vector<Row>>(std::move(rows)) : failed(row.error());
}

template <class Row>
Result<std::int64_t> Reader::count() {
  // Without a condition SQLite counts in one step, which nothing bounds.
  const Result<std::int64_t> rows =
      database_.number(std::string("SELECT count(*) FROM ") + Fields<Row>::kTable + " WHERE 1");
  return rows ? rows : failed(rows.error());
}

// A run: the records of its nodes, which lie in one folder. One thread at a time.

struct Run {
  std::vector<Reader> nodes;      // by name
  std::vector<Error> unreadable;  // a record each that could not be opened
};

// Every *.db of the folder; or the one file. An Error where the folder or records are missing.
Result<Run> open_run(const std::filesystem::path& folder);

}  // namespace chokepoint::record
