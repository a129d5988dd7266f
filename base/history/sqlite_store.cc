#include "base/history/sqlite_store.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/history/stored.h"

namespace chokepoint::history {
namespace {

constexpr std::int64_t kVersion = 1;

constexpr const char* kTables = R"(
CREATE TABLE series (
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, host TEXT NOT NULL, name TEXT NOT NULL,
  peer TEXT NOT NULL, metric TEXT NOT NULL, setting TEXT NOT NULL, unit TEXT NOT NULL,
  better INTEGER NOT NULL, UNIQUE (kind, host, name, peer, metric, setting));
CREATE TABLE source (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE row (
  series INTEGER NOT NULL, wall_ns INTEGER NOT NULL, source INTEGER NOT NULL, value REAL NOT NULL,
  spread REAL, count INTEGER NOT NULL, program TEXT NOT NULL,
  PRIMARY KEY (series, wall_ns)) WITHOUT ROWID;
CREATE TABLE content (id INTEGER PRIMARY KEY, settings TEXT NOT NULL UNIQUE);
CREATE TABLE state (
  host TEXT NOT NULL, shape INTEGER NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL,
  content INTEGER NOT NULL, PRIMARY KEY (host, shape, first_ns)) WITHOUT ROWID;
)";

Error of_file(Error error, const std::filesystem::path& file) {
  error.operation = "history";
  error.subject = file.string();
  return error;
}

Error no_history(const std::string& reason) {
  return {.kind = ErrorKind::Malformed,
          .operation = {},
          .subject = {},
          .reason = reason,
          .next_step = "name another file with --history"};
}

void bind_name(record::Statement& statement, const Series& series) {
  statement.bind(1, name_of(series.subject.kind));
  statement.bind(2, bounded(series.subject.host));
  statement.bind(3, bounded(series.subject.name));
  statement.bind(4, bounded(series.subject.to));
  statement.bind(5, bounded(series.metric));
  statement.bind(6, bounded(series.setting));
}

// Nothing where the row makes no sense: it is foreign.
std::optional<Series> series_in(const record::Statement& row) {
  std::string kind;
  Series series;
  std::int64_t better = 0;
  row.read(1, kind);
  row.read(2, series.subject.host);
  row.read(3, series.subject.name);
  row.read(4, series.subject.to);
  row.read(5, series.metric);
  row.read(6, series.setting);
  row.read(7, series.unit);
  row.read(8, better);
  return series_of(std::move(series), kind, better);
}

// Names of documents, by their number. Few rows have one of their own: a join would look each up.
class Sources {
 public:
  static Result<Sources> of(record::Database& database) {
    TRY(record::Statement one, database.prepare("SELECT name FROM source WHERE id = ?1"));
    return Sources(std::move(one));
  }

  // Empty where there is none.
  const SharedText& name(std::int64_t id) {
    const auto [known, is_new] = names_.try_emplace(id);
    if (is_new) {
      one_.reset();
      one_.bind(1, id);
      if (const auto row = one_.step(); row && *row) {
        std::string name;
        one_.read(0, name);
        known->second = std::move(name);
      }
    }
    return known->second;
  }

 private:
  explicit Sources(record::Statement one) : one_(std::move(one)) {}

  record::Statement one_;
  std::unordered_map<std::int64_t, SharedText> names_;
};

// Rows of the statement in SqliteStore::read().
class RowReader {
 public:
  explicit RowReader(Sources sources) : sources_(std::move(sources)) {}

  Result<> read(record::Statement& rows, std::vector<Measured>& points) {
    return rows.each([&] {
      Measured point = measured_in(rows);
      if (std::isfinite(point.value)) {
        points.push_back(std::move(point));
      }
    });
  }

 private:
  Measured measured_in(const record::Statement& row) {
    Measured measured;
    double spread = 0;
    std::int64_t source = 0;
    row.read(0, measured.wall_ns);
    row.read(1, measured.value);
    row.read(2, spread);
    row.read(3, measured.count);
    row.read(4, source);
    row.read(5, read_);
    measured.source = sources_.name(source);
    if (program_ != read_) {
      program_ = read_;
    }
    measured.program = program_;
    if (std::isfinite(spread)) {
      measured.spread = spread;
    }
    return measured;
  }

  Sources sources_;
  SharedText program_;  // most rows have that of the row before
  std::string read_;
};

// By times of a series' earlier rows, the newest first.
Result<std::int64_t> first_wanted(record::Statement& earlier, std::int64_t series,
                                  const Wanted& wanted) {
  std::int64_t from_ns = wanted.since_ns;
  if (wanted.before.most == 0) {
    return from_ns;
  }
  earlier.reset();
  earlier.bind(1, series);
  earlier.bind(2, wanted.since_ns);
  earlier.bind(3, wanted.before.since_ns);
  earlier.bind(4, wanted.before.most);
  TRY(earlier.each([&] { earlier.read(0, from_ns); }));
  return from_ns;
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::filesystem::path& file) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  auto database = record::Database::open(file, record::Access::Write);
  if (!database) {
    return fail(of_file(std::move(database).error(), file));
  }
  auto store = std::unique_ptr<SqliteStore>(new SqliteStore(*std::move(database)));
  if (auto ready = store->make_ready(); !ready) {
    return fail(of_file(std::move(ready).error(), file));
  }
  return store;
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open_to_read(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return fail(ErrorKind::NotFound, "history", file.string(), "no such history",
                "'chokepoint history add DIR' makes one of records and documents");
  }
  auto database = record::Database::open(file, record::Access::Read);
  if (!database) {
    return fail(of_file(std::move(database).error(), file));
  }
  auto store = std::unique_ptr<SqliteStore>(new SqliteStore(*std::move(database)));
  const auto version = store->version();
  if (!version || *version == 0) {
    return fail(
        of_file(version ? no_history("holds no history") : std::move(version).error(), file));
  }
  return store;
}

// 0: the file holds no history.
Result<std::int64_t> SqliteStore::version() {
  TRY(const std::int64_t version, database_.number("PRAGMA user_version"));
  if (version > kVersion) {
    return fail(newer_history(version, kVersion));
  }
  return version;
}

Result<> SqliteStore::make_ready() {
  // A log for writing ahead is shared memory: on a home that several hosts mount it would be torn.
  TRY(
      database_.run("PRAGMA busy_timeout = 3000; PRAGMA journal_mode = TRUNCATE;"
                    "PRAGMA synchronous = NORMAL"));
  TRY(const std::int64_t found, version());
  if (found == kVersion) {
    return {};
  }
  TRY(database_.run("BEGIN IMMEDIATE"));
  TRY(const std::int64_t meanwhile, database_.number("PRAGMA user_version"));
  if (meanwhile == 0) {
    TRY(const std::int64_t tables, database_.number("SELECT count(*) FROM sqlite_master"));
    if (tables > 0) {
      database_.rollback();
      return fail(no_history("is a database of another program"));
    }
    TRY(database_.run(kTables));
    TRY(database_.run(fmt::format("PRAGMA user_version = {}", kVersion)));
  }
  return database_.run("COMMIT");
}

Result<std::int64_t> SqliteStore::add(const Batch& batch) {
  TRY(database_.run("BEGIN IMMEDIATE"));
  auto added = add_all(batch);
  if (!added) {
    database_.rollback();
    return added;
  }
  TRY(database_.run("COMMIT"));
  return added;
}

Result<std::int64_t> SqliteStore::add_all(const Batch& batch) {
  std::int64_t added = 0;
  for (const Row& row : batch.rows) {
    if (std::isfinite(row.measured.value)) {
      TRY(const std::int64_t one, add_row(row));
      added += one;
    }
  }
  for (const HostState& state : batch.hosts) {
    TRY(add_state(state));
  }
  return added;
}

Result<record::Statement*> SqliteStore::prepared(const char* sql) {
  const auto known = statements_.find(sql);
  if (known != statements_.end()) {
    known->second.reset();
    return &known->second;
  }
  TRY(record::Statement statement, database_.prepare(sql));
  return &statements_.emplace(sql, std::move(statement)).first->second;
}

Result<std::int64_t> SqliteStore::number(const char* sql) {
  TRY(record::Statement * statement, prepared(sql));
  TRY(const bool is_row, statement->step());
  std::int64_t number = 0;
  if (is_row) {
    statement->read(0, number);
  }
  statement->reset();
  return number;
}

// The identifier of a row that is there, or is made.
template <class Bind>
Result<std::int64_t> SqliteStore::known_or_made(const char* select, const char* insert,
                                                Bind&& bind) {
  TRY(record::Statement * known, prepared(select));
  bind(*known);
  TRY(const bool is_known, known->step());
  if (is_known) {
    std::int64_t id = 0;
    known->read(0, id);
    known->reset();
    return id;
  }
  known->reset();
  TRY(record::Statement * made, prepared(insert));
  bind(*made);
  TRY(made->run());
  return number("SELECT last_insert_rowid()");
}

Result<std::int64_t> SqliteStore::add_row(const Row& row) {
  const Measured& measured = row.measured;
  TRY(const std::int64_t series, id_of(row.series));
  TRY(const std::int64_t source, id_of_source(measured.source));
  TRY(record::Statement * insert,
      prepared("INSERT OR IGNORE INTO row (series, wall_ns, source, value, spread, count, program) "
               "VALUES (?, ?, ?, ?, ?, ?, ?)"));
  insert->bind(1, series);
  insert->bind(2, measured.wall_ns);
  insert->bind(3, source);
  insert->bind(4, measured.value);
  insert->bind(5, measured.spread.value_or(std::numeric_limits<double>::quiet_NaN()));
  insert->bind(6, measured.count);
  insert->bind(7, bounded(measured.program));
  TRY(insert->run());
  return number("SELECT changes()");
}

Result<std::int64_t> SqliteStore::id_of(const Series& series) {
  return known_or_made(
      "SELECT id FROM series WHERE kind = ?1 AND host = ?2 AND name = ?3 AND peer = ?4 AND "
      "metric = ?5 AND setting = ?6",
      "INSERT INTO series (kind, host, name, peer, metric, setting, unit, better) VALUES (?1, ?2, "
      "?3, ?4, ?5, ?6, ?7, ?8)",
      [&](record::Statement& statement) {
        bind_name(statement, series);
        statement.bind(7, bounded(series.unit));
        statement.bind(8, series.better);
      });
}

Result<std::int64_t> SqliteStore::id_of_source(const std::string& source) {
  return known_or_made("SELECT id FROM source WHERE name = ?1",
                       "INSERT INTO source (name) VALUES (?1)",
                       [&](record::Statement& statement) { statement.bind(1, bounded(source)); });
}

Result<> SqliteStore::add_state(const HostState& state) {
  if (state.settings.empty()) {
    return {};
  }
  const std::string text = settings_text(state.settings);
  TRY(const std::int64_t content,
      known_or_made("SELECT id FROM content WHERE settings = ?1",
                    "INSERT INTO content (settings) VALUES (?1)",
                    [&](record::Statement& statement) { statement.bind(1, text); }));
  const std::int64_t shape = shape_of(state.settings);
  const auto run = [&](const char* sql) -> Result<> {
    TRY(record::Statement * statement, prepared(sql));
    statement->bind(1, bounded(state.host));
    statement->bind(2, shape);
    statement->bind(3, state.wall_ns);
    statement->bind(4, content);
    return statement->run();
  };
  // The span before it, or the one after it, is drawn out where it holds the same; else a new one.
  TRY(const std::int64_t before, number("SELECT total_changes()"));
  TRY(
      run("UPDATE state SET last_ns = max(last_ns, ?3) WHERE host = ?1 AND shape = ?2 AND "
          "content = ?4 AND first_ns = (SELECT max(first_ns) FROM state WHERE host = ?1 AND "
          "shape = ?2 AND first_ns <= ?3)"));
  TRY(const std::int64_t drawn_out, number("SELECT total_changes()"));
  if (drawn_out > before) {
    return {};
  }
  TRY(
      run("UPDATE state SET first_ns = ?3 WHERE host = ?1 AND shape = ?2 AND content = ?4 AND "
          "first_ns = (SELECT min(first_ns) FROM state WHERE host = ?1 AND shape = ?2 AND "
          "first_ns > ?3)"));
  TRY(const std::int64_t begun_earlier, number("SELECT total_changes()"));
  if (begun_earlier > drawn_out) {
    return {};
  }
  return run(
      "INSERT OR IGNORE INTO state (host, shape, first_ns, last_ns, content) VALUES (?1, ?2, ?3, "
      "?3, ?4)");
}

Result<std::vector<MeasuredSeries>> SqliteStore::read(const Wanted& wanted) {
  TRY(record::Statement all,
      database_.prepare("SELECT id, kind, host, name, peer, metric, setting, unit, better FROM "
                        "series WHERE (?1 = '' OR metric = ?1) AND (?2 = '' OR "
                        "substr(?2, 1, length(host)) = host) "
                        "ORDER BY kind, host, name, peer, metric, setting"));
  all.bind(1, wanted.metric);
  all.bind(2, wanted.subject);
  TRY(record::Statement rows,
      database_.prepare("SELECT wall_ns, value, spread, count, source, program FROM row WHERE "
                        "series = ?1 AND wall_ns >= ?2 ORDER BY wall_ns"));
  TRY(record::Statement earlier,
      database_.prepare("SELECT wall_ns FROM row WHERE series = ?1 AND wall_ns < ?2 AND wall_ns >= "
                        "?3 ORDER BY wall_ns DESC LIMIT ?4"));
  TRY(Sources sources, Sources::of(database_));
  RowReader reader(std::move(sources));
  std::vector<MeasuredSeries> found;
  while (true) {
    TRY(const bool is_row, all.step());
    if (!is_row) {
      return found;
    }
    std::int64_t id = 0;
    all.read(0, id);
    const auto series = series_in(all);
    if (!series || !is_wanted(*series, wanted)) {
      continue;
    }
    MeasuredSeries measured{.series = *series};
    TRY(const std::int64_t from_ns, first_wanted(earlier, id, wanted));
    rows.reset();
    rows.bind(1, id);
    rows.bind(2, from_ns);
    TRY(reader.read(rows, measured.points));
    if (!measured.points.empty()) {
      found.push_back(std::move(measured));
    }
  }
}

Result<std::vector<StateSpan>> SqliteStore::states() {
  StateReader states;
  TRY(record::Statement texts, database_.prepare("SELECT id, settings FROM content"));
  TRY(texts.each([&] {
    std::int64_t id = 0;
    std::string text;
    texts.read(0, id);
    texts.read(1, text);
    states.add_content(id, text);
  }));
  TRY(record::Statement rows, database_.prepare("SELECT host, first_ns, last_ns, content FROM "
                                                "state ORDER BY host, first_ns, last_ns"));
  TRY(rows.each([&] {
    StateSpan span;
    std::int64_t content = 0;
    rows.read(0, span.host);
    rows.read(1, span.first_ns);
    rows.read(2, span.last_ns);
    rows.read(3, content);
    states.add(std::move(span), content);
  }));
  return states.take();
}

Result<std::int64_t> SqliteStore::prune(std::int64_t before_ns) {
  TRY(database_.run("BEGIN IMMEDIATE"));
  TRY(const std::int64_t before, database_.number("SELECT total_changes()"));
  TRY(database_.run(fmt::format("DELETE FROM row WHERE wall_ns < {}", before_ns)));
  TRY(const std::int64_t after, database_.number("SELECT total_changes()"));
  TRY(database_.run(
      fmt::format("DELETE FROM state WHERE last_ns < {};"
                  "DELETE FROM series WHERE id NOT IN (SELECT DISTINCT series FROM row);"
                  "DELETE FROM source WHERE id NOT IN (SELECT DISTINCT source FROM row);"
                  "DELETE FROM content WHERE id NOT IN (SELECT DISTINCT content FROM state);COMMIT",
                  before_ns)));
  return after - before;
}

Result<std::int64_t> SqliteStore::thin(std::int64_t before_ns) {
  TRY(database_.run("BEGIN IMMEDIATE"));
  TRY(const std::int64_t before, database_.number("SELECT total_changes()"));
  TRY(database_.run(sql_that_thins("row", before_ns / kDayNs * kDayNs)));
  TRY(const std::int64_t after, database_.number("SELECT total_changes()"));
  TRY(
      database_.run("DELETE FROM source WHERE id NOT IN (SELECT DISTINCT source FROM row);"
                    "COMMIT"));
  return after - before;
}

}  // namespace chokepoint::history
