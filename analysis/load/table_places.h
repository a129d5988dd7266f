// Where moments lie in the large tables of one record. Not after its Reader; its thread.
#pragma once

#include <optional>

#include "analysis/load/sample_plan.h"

namespace chokepoint::analysis {

class TablePlaces {
 public:
  static Result<TablePlaces> open(record::Reader& reader);

  // Rows of a table that end before a moment; none where it cannot be read.
  std::int64_t rows_before(std::size_t table, std::int64_t t_ns);
  // Of packets and sockets: their detail is what tells a step's phases apart.
  std::optional<std::int64_t> detail_from();

 private:
  std::vector<record::TimeSearch> searches_;
};

}  // namespace chokepoint::analysis
