// Batches that wait until a server can be reached, in one SQLite file of bounded size. They are on
// the disk when put() returns. Several processes may use it at once; if two pass on the same
// batch, a store adds it once.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/history/row.h"
#include "base/record/database.h"

namespace chokepoint::history {

inline constexpr std::int64_t kMaxSpoolBytes = std::int64_t{64} << 20;

class Spool {
 public:
  struct Waiting {
    std::int64_t id = 0;
    Batch batch = {};
  };

  // Makes the file, and the folders above it, where they are missing.
  static Result<Spool> open(const std::filesystem::path& file,
                            std::int64_t max_bytes = kMaxSpoolBytes);

  // `target` names the server. Exhausted where the file may not grow any more.
  Result<> put(const std::string& target, const Batch& batch);
  // The oldest one for that server after another one; 0: the first.
  Result<std::optional<Waiting>> next(const std::string& target, std::int64_t after);
  Result<> remove(std::int64_t id);

 private:
  explicit Spool(record::Database database) : database_(std::move(database)) {}

  record::Database database_;
};

}  // namespace chokepoint::history
