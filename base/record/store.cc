#include "base/record/store.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/record/schema.h"

namespace chokepoint::record {
namespace {

constexpr std::int64_t kSliceRows = 8192;
constexpr std::chrono::milliseconds kTidyTime{40};

constexpr const char* kSettings =
    "PRAGMA journal_size_limit=16777216;"
    "PRAGMA cache_size=-8192;"
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA secure_delete=OFF;";

std::unexpected<Error> fail_on(const std::filesystem::path& path, Error error) {
  // What lies beside the record has a name of its own.
  if (!error.subject.starts_with(path.string())) {
    error.subject = path.string();
  }
  return fail(std::move(error));
}

// A write-ahead log needs shared memory and locks; a file system without them (some NFS) still
// gives a safe record to one process alone, and readers take a copy.
constexpr const char* kSyncedByItself = "PRAGMA synchronous=FULL;PRAGMA wal_autocheckpoint=2048;";
constexpr const char* kSyncedBySyncer = "PRAGMA synchronous=NORMAL;PRAGMA wal_autocheckpoint=0;";

Result<Database> open_logged(const std::filesystem::path& path, Access access) {
  TRY(Database database, Database::open(path, access));
  TRY(const Content content, identify(database));
  if (content != Content::Empty) {
    TRY(check_schema(database));
  }
  TRY(database.run("PRAGMA page_size=4096;"));
  if (access == Access::Unlocked) {
    TRY(database.run("PRAGMA locking_mode=EXCLUSIVE;"));
  }
  TRY(database.run("PRAGMA journal_mode=WAL;"));
  TRY(database.run(kSettings));
  TRY(database.run(access == Access::Unlocked ? kSyncedByItself : kSyncedBySyncer));
  TRY(migrate(database));
  return database;
}

struct OpenedDatabase {
  Database database;
  bool has_locks;
};

// `has_locks` is found out without SQLite, which reports a file system without locks as a lock that
// another process holds.
Result<OpenedDatabase> open_with_or_without_locks(const std::filesystem::path& path,
                                                  bool has_locks) {
  Result<Database> database = open_logged(path, has_locks ? Access::Write : Access::Unlocked);
  if (!database && has_locks &&
      (database.error().kind == ErrorKind::Io || database.error().kind == ErrorKind::Unsupported)) {
    Result<Database> unlocked = open_logged(path, Access::Unlocked);
    if (unlocked) {
      return OpenedDatabase{std::move(*unlocked), false};
    }
  }
  TRY(Database opened, std::move(database));
  return OpenedDatabase{std::move(opened), has_locks};
}

template <std::size_t... Index>
Result<std::vector<Statement>> entity_inserts(Database& database, std::index_sequence<Index...>) {
  std::vector<Statement> statements;
  for (const std::string& sql :
       {insert_sql<std::variant_alternative_t<Index, Entity>>(Insert::Replace)...}) {
    TRY(Statement statement, database.prepare(sql));
    statements.push_back(std::move(statement));
  }
  return statements;
}

template <class... Rows>
Result<std::tuple<SampleTable<Rows>...>> open_tables(Database& database,
                                                     const std::variant<Rows...>*) {
  Result<> done;
  const auto open = [&]<class Row>(const Row*) {
    Result<SampleTable<Row>> table = SampleTable<Row>::open(database);
    if (!table) {
      done = fail(table.error());
    }
    return table;
  };
  std::tuple<Result<SampleTable<Rows>>...> tables{open(static_cast<const Rows*>(nullptr))...};
  if (!done) {
    return fail(done.error());
  }
  return std::apply(
      [](auto&... table) { return std::tuple<SampleTable<Rows>...>(std::move(*table)...); },
      tables);
}

}  // namespace

Store::Store(Database database, SampleTables tables, const std::filesystem::path& path,
             const Limits& limits)
    : database_(std::move(database)),
      tables_(std::move(tables)),
      log_(path.string() + "-wal"),
      limits_(limits) {}

Result<Store> Store::open(const std::filesystem::path& path, const Limits& limits, bool has_locks) {
  Result<OpenedDatabase> opened = open_with_or_without_locks(path, has_locks);
  if (!opened) {
    return fail_on(path, opened.error());
  }
  Database* database = &opened->database;
  auto tables = open_tables(*database, static_cast<const Sample*>(nullptr));
  if (!tables) {
    return fail_on(path, tables.error());
  }
  auto inserts = entity_inserts(*database, std::make_index_sequence<std::variant_size_v<Entity>>());
  if (!inserts) {
    return fail_on(path, inserts.error());
  }
  const Result<std::int64_t> entity_bytes =
      database->number("SELECT rows FROM fold WHERE name='entities'");
  if (!entity_bytes) {
    return fail_on(path, entity_bytes.error());
  }
  Store store(std::move(*database), std::move(*tables), path, limits);
  store.entity_inserts_ = std::move(*inserts);
  if (opened->has_locks) {
    Result<std::unique_ptr<Syncer>> syncer = Syncer::start(path);
    if (!syncer) {
      return fail_on(path, syncer.error());
    }
    store.syncer_ = std::move(*syncer);
  }
  store.entity_bytes_ = store.saved_entity_bytes_ = *entity_bytes;
  return store;
}

Result<> Store::make_room() {
  for (bool more = true; more && bytes() > limits_.max_bytes;) {
    TRY(more, fold_heaviest());
  }
  return {};
}

Result<> Store::write(const Batch& batch, const std::vector<Entity>& also, std::int64_t session,
                      std::int64_t now_ns, std::int64_t shift_ns) {
  const auto write_all = [&]() -> Result<> {
    TRY(bound_log());
    TRY(database_.run("BEGIN IMMEDIATE"));
    TRY(insert(batch, also, shift_ns));
    return keep_session(session, now_ns);
  };
  return commit(write_all());
}

Result<> Store::commit(Result<> done) {
  if (done) {
    done = database_.run("COMMIT");
  }
  if (!done) {
    database_.rollback();
  } else if (syncer_) {
    syncer_->committed();
  }
  std::apply([&](auto&... table) { ((done ? table.commit() : table.revert()), ...); }, tables_);
  (done ? saved_entity_bytes_ : entity_bytes_) = done ? entity_bytes_ : saved_entity_bytes_;
  return done;
}

Result<> Store::bound_log() {
  std::error_code missing;
  const std::uintmax_t size = std::filesystem::file_size(log_, missing);
  if (missing || size <= static_cast<std::uintmax_t>(limits_.max_log_bytes)) {
    return {};
  }
  const std::unique_lock guard =
      syncer_ ? std::unique_lock(syncer_->copying()) : std::unique_lock<std::mutex>();
  TRY(const std::int64_t blocked, database_.number("PRAGMA wal_checkpoint(TRUNCATE)"));
  return blocked == 0 ? Result<>()
                      : fail(ErrorKind::Busy, "record", log_.string(),
                             "a reader keeps the log from being cleared");
}

Result<> Store::insert(const Batch& batch, const std::vector<Entity>& also, std::int64_t shift_ns) {
  for (const std::vector<Entity>* entities : {&batch.entities, &also}) {
    for (const Entity& entity : *entities) {
      TRY(insert_entity(entity));
    }
  }
  return insert_samples(batch.samples, shift_ns);
}

Result<> Store::insert_samples(const Words& words, std::int64_t shift_ns) {
  Result<> done;
  for (std::size_t at = 0; done && at < words.size();) {
    at += unpack(&words[at], [&]<class Row>(Row& row) {
      if (shift_ns != 0) {
        shift_times(row, shift_ns);
      }
      done = std::get<SampleTable<Row>>(tables_).append(row);
    });
  }
  return done;
}

Result<> Store::insert_entity(const Entity& entity) {
  Statement& statement = entity_inserts_[entity.index()];
  return std::visit(
      [&](const auto& row) {
        bind_row(statement, row, 1);
        entity_bytes_ += static_cast<std::int64_t>(size_of(row));
        return statement.run();
      },
      entity);
}

Result<> Store::keep_session(std::int64_t session, std::int64_t now_ns) {
  TRY(database_.run(fmt::format("UPDATE session SET seen_ns={} WHERE id={}", now_ns, session)));
  return entity_bytes_ == saved_entity_bytes_
             ? Result<>()
             : database_.run(fmt::format(
                   "INSERT OR REPLACE INTO fold(name,level,upto,rows) VALUES('entities',0,0,{})",
                   entity_bytes_));
}

Result<> Store::tidy() {
  const std::int64_t wanted = limits_.max_bytes / 10 * 9;
  const auto end = std::chrono::steady_clock::now() + kTidyTime;
  for (bool more = true; more && bytes() > wanted && std::chrono::steady_clock::now() < end;) {
    TRY(more, fold_heaviest());
  }
  return {};
}

Store::Heaviest Store::heaviest() const {
  Heaviest heaviest;
  std::size_t index = 0;
  const auto weigh = [&](const auto& table) {
    for (std::size_t level = 0; level < kLevels; ++level) {
      if (table.weight(level) > heaviest.weight) {
        heaviest = {table.weight(level), index, level};
      }
    }
    ++index;
  };
  std::apply([&](const auto&... table) { (weigh(table), ...); }, tables_);
  return heaviest;
}

Result<bool> Store::fold_heaviest() {
  const Heaviest what = heaviest();
  if (what.weight == 0) {
    return false;
  }
  TRY(database_.run("BEGIN IMMEDIATE"));
  Result<std::int64_t> gone = 0;
  std::size_t index = 0;
  const auto fold = [&](auto& table) {
    if (index++ == what.table) {
      gone = table.fold(database_, what.level, kSliceRows);
    }
  };
  std::apply([&](auto&... table) { (fold(table), ...); }, tables_);
  TRY(commit(gone ? Result<>() : fail(gone.error())));
  forgotten_ += *gone;
  return true;
}

void Store::close() {
  syncer_.reset();
  // Fails while a reader has the record open; its own end then clears the log.
  [[maybe_unused]] const Result<> done =
      database_.run("PRAGMA synchronous=FULL;PRAGMA journal_mode=DELETE");
}

std::int64_t Store::bytes() {
  const std::int64_t pages = database_.number("PRAGMA page_count").value_or(0);
  const std::int64_t unused = database_.number("PRAGMA freelist_count").value_or(0);
  return (pages - unused) * database_.number("PRAGMA page_size").value_or(0);
}

std::optional<Error> Store::sync_trouble() const {
  return syncer_ ? syncer_->trouble() : std::nullopt;
}

std::int64_t Store::take_forgotten() { return std::exchange(forgotten_, 0); }

std::int64_t Store::largest_id() {
  std::int64_t largest = 0;
  for (const char* table : {"session", "probe", "process", "flow", "series", "event"}) {
    const std::int64_t id =
        database_.number(fmt::format("SELECT max(id) FROM {}", table)).value_or(0);
    largest = std::max(largest, id);
  }
  return largest;
}

Result<std::vector<Session>> Store::sessions() {
  TRY(Statement select,
      database_.prepare("SELECT " + column_list<Session>() + " FROM session ORDER BY id"));
  std::vector<Session> sessions;
  TRY(select.each([&] { read_row(select, sessions.emplace_back(), 0); }));
  return sessions;
}

}  // namespace chokepoint::record
