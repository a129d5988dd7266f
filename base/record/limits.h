// How much room a record and its writer may take. A value.
#pragma once

#include <chrono>
#include <cstdint>

namespace chokepoint::record {

struct Limits {
  // Of the file. Where it is reached old detail is folded into coarser bins.
  std::int64_t max_bytes = 400'000'000;
  // Of the log beside it. A reader that holds on to an old state keeps it from shrinking; past
  // this nothing more is written until the reader lets go.
  std::int64_t max_log_bytes = 64'000'000;
  std::int64_t queue_bytes = 4 << 20;   // of samples, a producer
  std::int64_t entity_bytes = 8 << 20;  // of rows with text that wait for the writer
  std::int64_t batch_bytes = 2 << 20;   // of samples in one transaction
  std::chrono::milliseconds commit_interval{250};
  std::chrono::milliseconds retry_interval{1000};
};

}  // namespace chokepoint::record
