// How many rows of a table of samples lie where, without counting them: the writer notes what its
// folding leaves (see sample_table.h). A value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/record/database.h"

namespace chokepoint::record {

class TableShape {
 public:
  static Result<TableShape> read(Database& database, const std::string& table);

  std::int64_t first() const { return first_; }  // rowid
  std::int64_t last() const { return last_; }
  // Exact in full detail; among folded rows, whose rowids have gaps, about.
  std::int64_t rows_before(std::int64_t rowid) const;
  // Behind the last row that was folded.
  std::int64_t first_in_detail() const { return folds_.empty() ? 0 : folds_.back().last + 1; }
  bool is_folded() const { return !folds_.empty(); }

 private:
  // Coarsest first; each begins behind the one before.
  struct Fold {
    std::int64_t last = 0;  // rowid
    std::int64_t rows = 0;
  };

  std::int64_t first_ = 1;
  std::int64_t last_ = 0;
  std::vector<Fold> folds_;
};

}  // namespace chokepoint::record
