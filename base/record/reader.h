// Reads one node's record, also while it is being written, after its writer was killed, from a
// folder that cannot be written to, and as far as it goes where the file has been cut short.
// Nothing in the record's folder is changed. One thread at a time.
//
//   reader.each<SocketSample>([&](const SocketSample& sample) { … });
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/record/database.h"
#include "base/record/entities.h"
#include "base/record/private_folder.h"
#include "base/record/row.h"
#include "base/record/time_order.h"

namespace chokepoint::record {

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

  // Visits samples in the order of their ends; see time_order.h. Nothing is allocated a row.
  template <class Row, class F>
  Result<> each(F&& visit);
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
  Result<Statement> select();
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
Result<Statement> Reader::select() {
  return database_.prepare("SELECT " + column_list<Row>() + " FROM " + Table<Row>::kName);
}

template <class Row, class F>
Result<> Reader::each(F&& visit) {
  Result<Statement> statement = select<Row>();
  if (!statement) {
    return failed(statement.error());
  }
  TimeOrder<Row> order;
  Row value;
  Result<bool> row = statement->step();
  for (; row && *row; row = statement->step()) {
    read_row(*statement, value, 0);
    order.add(value, visit);
  }
  order.flush(visit);
  return row ? Result<>() : failed(row.error());
}

template <class Row>
Result<std::vector<Row>> Reader::all() {
  Result<Statement> statement = select<Row>();
  if (!statement) {
    return failed(statement.error());
  }
  std::vector<Row> rows;
  Result<bool> row = statement->step();
  for (; row && *row; row = statement->step()) {
    read_row(*statement, rows.emplace_back(), 0);
  }
  return row ? Result<std::vector<Row>>(std::move(rows)) : failed(row.error());
}

template <class Row>
Result<std::int64_t> Reader::count() {
  const Result<std::int64_t> rows =
      database_.number(std::string("SELECT count(*) FROM ") + Table<Row>::kName);
  return rows ? rows : failed(rows.error());
}

}  // namespace chokepoint::record
