#include "base/record/folding.h"

#include <algorithm>

namespace chokepoint::record {

Result<TableShape> TableShape::read(Database& database, const std::string& table) {
  TableShape shape;
  TRY(const std::int64_t first, database.number("SELECT min(rowid) FROM " + table));
  TRY(shape.last_, database.number("SELECT max(rowid) FROM " + table));
  shape.first_ = std::clamp<std::int64_t>(first, 1, kMostNumber);
  shape.last_ = std::min(shape.last_, kMostNumber);
  TRY(Statement folds,
      database.prepare("SELECT upto,rows FROM fold WHERE level>0 AND upto>0 AND name='" + table +
                       "' ORDER BY level DESC"));
  TRY(folds.each([&] {
    Fold& fold = shape.folds_.emplace_back();
    folds.read(0, fold.last);
    folds.read(1, fold.rows);
    fold.last = std::clamp<std::int64_t>(fold.last, 0, kMostNumber);
    fold.rows = std::clamp<std::int64_t>(fold.rows, 0, kMostNumber);
  }));
  return shape;
}

std::int64_t TableShape::rows_before(std::int64_t rowid) const {
  std::int64_t rows = 0;
  std::int64_t begin = first_;
  for (const Fold& fold : folds_) {
    const std::int64_t width = fold.last + 1 - begin;
    const std::int64_t inside =
        std::clamp<std::int64_t>(rowid - begin, 0, std::max<std::int64_t>(width, 0));
    rows += width > 0 ? static_cast<std::int64_t>(static_cast<double>(fold.rows) *
                                                  static_cast<double>(inside) /
                                                  static_cast<double>(width))
                      : 0;
    begin = std::max(begin, fold.last + 1);
  }
  return rows +
         std::clamp<std::int64_t>(rowid - begin, 0, std::max<std::int64_t>(last_ + 1 - begin, 0));
}

}  // namespace chokepoint::record
