// A history on a server of PostgreSQL: the schema is packaging/postgresql/schema.sql, which this
// program carries. Rows are added by one call of a function there, so that a batch is added whole
// or not at all and an account needs no right but to call it; rows are read from the tables.
#pragma once

#include <string>
#include <string_view>

#include "base/history/postgres_connection.h"
#include "base/history/store.h"

namespace chokepoint::history {

inline constexpr std::chrono::milliseconds kMaxConnecting{2000};

class PostgresStore final : public Store {
 public:
  // Makes the schema where the database has none and the account may make one.
  static Result<std::unique_ptr<PostgresStore>> open(const std::string& url);
  static Result<std::unique_ptr<PostgresStore>> open_to_read(const std::string& url);

  Result<std::int64_t> add(const Batch& batch) override;
  Result<std::vector<MeasuredSeries>> read(const Wanted& wanted) override;
  Result<std::vector<StateSpan>> states() override;
  Result<std::int64_t> prune(std::int64_t before_ns) override;
  Result<std::int64_t> thin(std::int64_t before_ns) override;

 private:
  struct Found;  // what a database holds of a history

  explicit PostgresStore(PostgresConnection connection) : connection_(std::move(connection)) {}
  static Result<std::unique_ptr<PostgresStore>> connect(const std::string& url, bool may_make);
  Result<Found> find();
  Result<> make(const Found& found);
  struct FoundSeries;
  Result<FoundSeries> find(const Wanted& wanted);
  Result<> add_origins(FoundSeries& found);
  Result<std::int64_t> number(const char* sql, const PostgresConnection::Values& values,
                              std::chrono::milliseconds wait);

  PostgresConnection connection_;
};

// The text of schema.sql.
std::string_view postgres_schema();

}  // namespace chokepoint::history
