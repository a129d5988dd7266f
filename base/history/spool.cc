#include "base/history/spool.h"

#include <fmt/format.h>

#include "base/history/batch_text.h"

namespace chokepoint::history {

Result<Spool> Spool::open(const std::filesystem::path& file, std::int64_t max_bytes) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  TRY(record::Database database, record::Database::open(file, record::Access::Write));
  constexpr std::int64_t kPageBytes = 4096;
  TRY(
      database.run(fmt::format("PRAGMA busy_timeout = 2000; PRAGMA page_size = {};"
                               "PRAGMA auto_vacuum = FULL; PRAGMA max_page_count = {};"
                               "CREATE TABLE IF NOT EXISTS waiting (id INTEGER PRIMARY KEY "
                               "AUTOINCREMENT, target TEXT NOT NULL, batch TEXT NOT NULL)",
                               kPageBytes, max_bytes / kPageBytes)));
  return Spool(std::move(database));
}

Result<> Spool::put(const std::string& target, const Batch& batch) {
  TRY(record::Statement insert,
      database_.prepare("INSERT INTO waiting (target, batch) VALUES (?1, ?2)"));
  insert.bind(1, target);
  insert.bind(2, text_of(batch));
  return insert.run();
}

Result<std::optional<Spool::Waiting>> Spool::next(const std::string& target, std::int64_t after) {
  TRY(record::Statement select,
      database_.prepare("SELECT id, batch FROM waiting WHERE target = ?1 AND id > ?2 "
                        "ORDER BY id LIMIT 1"));
  select.bind(1, target);
  select.bind(2, after);
  TRY(const bool is_row, select.step());
  if (!is_row) {
    return std::nullopt;
  }
  Waiting waiting;
  std::string text;
  select.read(0, waiting.id);
  select.read(1, text);
  waiting.batch = batch_in(text);
  return waiting;
}

Result<> Spool::remove(std::int64_t id) {
  TRY(record::Statement remove, database_.prepare("DELETE FROM waiting WHERE id = ?1"));
  remove.bind(1, id);
  return remove.run();
}

}  // namespace chokepoint::history
