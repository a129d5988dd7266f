// Puts rows that come nearly in order into order: several producers' rows lie in the record as the
// writer drained their queues, so that one producer's may come some time after another's. A row
// that comes later than the window is passed on as it is. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

#include "base/record/row.h"

namespace chokepoint::record {

constexpr std::int64_t kOrderWindowNs = 1'000'000'000;

template <class Row>
class TimeOrder {
 public:
  template <class F>
  void add(const Row& row, F& visit) {
    const std::int64_t end = end_of(row);
    newest_ = std::max(newest_, end);
    heap_.push({end, count_++, keep(row)});
    release(newest_ - kOrderWindowNs, visit);
  }

  template <class F>
  void flush(F& visit) {
    release(std::numeric_limits<std::int64_t>::max(), visit);
  }

 private:
  struct Entry {
    std::int64_t end;
    std::uint64_t arrival;  // rows of one moment stay in their order
    std::size_t slot;
    auto operator<=>(const Entry&) const = default;
  };

  std::size_t keep(const Row& row) {
    if (free_.empty()) {
      rows_.push_back(row);
      return rows_.size() - 1;
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    rows_[slot] = row;
    return slot;
  }

  template <class F>
  void release(std::int64_t until, F& visit) {
    while (!heap_.empty() && heap_.top().end <= until) {
      visit(static_cast<const Row&>(rows_[heap_.top().slot]));
      free_.push_back(heap_.top().slot);
      heap_.pop();
    }
  }

  std::vector<Row> rows_;
  std::vector<std::size_t> free_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
  std::int64_t newest_ = std::numeric_limits<std::int64_t>::min() / 2;
  std::uint64_t count_ = 0;
};

}  // namespace chokepoint::record
