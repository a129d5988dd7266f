// A history in one SQLite file. Several processes write to it, one after the other, also of several
// hosts that mount it; what was committed survives the end of a process at any moment.
//
//   series   subject, metric, setting, unit
//   row      a value of a series at a time, which are its key: the same document again is none
//   source   names of documents and folders, once each
//   state    host, content, first and last time that it was seen
//   content  settings of a host as JSON, once each
#pragma once

#include <filesystem>
#include <map>
#include <string_view>

#include "base/history/store.h"
#include "base/record/database.h"

namespace chokepoint::history {

class SqliteStore final : public Store {
 public:
  // Makes the file, and the folders above it, where they are missing.
  static Result<std::unique_ptr<SqliteStore>> open(const std::filesystem::path& file);
  // An Error where there is no such file.
  static Result<std::unique_ptr<SqliteStore>> open_to_read(const std::filesystem::path& file);

  Result<std::int64_t> add(const Batch& batch) override;
  Result<std::vector<MeasuredSeries>> read(const Wanted& wanted) override;
  Result<std::vector<StateSpan>> states() override;
  Result<std::int64_t> prune(std::int64_t before_ns) override;
  Result<std::int64_t> thin(std::int64_t before_ns) override;

 private:
  explicit SqliteStore(record::Database database) : database_(std::move(database)) {}
  Result<std::int64_t> version();
  Result<> make_ready();
  Result<std::int64_t> add_all(const Batch& batch);
  Result<std::int64_t> add_row(const Row& row);
  Result<> add_state(const HostState& state);
  Result<std::int64_t> id_of(const Series& series);
  Result<std::int64_t> id_of_source(const std::string& source);
  template <class Bind>
  Result<std::int64_t> known_or_made(const char* select, const char* insert, Bind&& bind);
  Result<std::int64_t> number(const char* sql);
  // Ready to be bound; compiled once.
  Result<record::Statement*> prepared(const char* sql);

  record::Database database_;
  std::map<std::string_view, record::Statement> statements_;  // by their SQL, which is a literal
};

}  // namespace chokepoint::history
