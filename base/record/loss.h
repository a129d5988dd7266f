// Rows that did not reach the record, from when to when, and why: kept as episodes, so that a long
// failure is one event that grows and not many events. The writer's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/record/entities.h"

namespace chokepoint::record {

struct Loss {
  std::string subject = {};  // the producer, or "entities" for rows with text
  std::string reason =
      {};  // "queue-full", "disk-full", "io-error", "read-only", "log-held", "limit"
  std::uint64_t rows = 0;
  std::int64_t from_ns = 0;
  std::int64_t until_ns = 0;
};

class LossBook {
 public:
  void note(const std::string& subject, const std::string& reason, std::uint64_t rows,
            std::int64_t now_ns);
  // Events for what has changed since the last settle(); ids from new_id, the same again for the
  // same episode.
  std::vector<Entity> events(std::int64_t session, const std::function<std::int64_t()>& new_id);
  // The events are in the record. Forgets episodes that have ended.
  void settle(std::int64_t now_ns);

  // There are losses that were not reported yet.
  bool has_news() const;
  std::uint64_t total() const { return total_; }
  // The sums by subject and reason, since the beginning.
  const std::vector<Loss>& sums() const { return sums_; }

 private:
  struct Episode {
    Loss loss;
    std::int64_t event = 0;
    bool is_reported = false;
  };
  std::vector<Episode> episodes_;
  std::vector<Loss> sums_;
  std::uint64_t total_ = 0;
};

}  // namespace chokepoint::record
