// A connection of the job, or one that may turn out to be. A value that does not move.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/record/samples.h"
#include "capture/book/flow_book.h"
#include "capture/socket/reading.h"
#include "capture/socket/sample.h"

namespace chokepoint::capture::socket {

struct Connection {
  Name name = {};
  packet::Ends ends = {};
  std::uint64_t cookie = 0;
  std::uint32_t bound_to = 0;
  std::int64_t seen_ns = 0;      // for the first time
  bool was_there_first = false;  // when its network was looked at for the first time

  book::EntryPointer entry = {};  // null: not known to be the job's
  bool is_turned = false;

  record::SocketSample last = {};  // of the look before
  bool is_last_written = false;
  std::int64_t changed_ns = 0;
  bool is_queued = false;
  std::int64_t gone_ns = 0;  // the kernel knew it no longer; 0: it does

  Totals seen = {};          // at the look before
  Totals counted = {};       // of them, in the job's sums
  std::uint64_t window = 0;  // see Account
  std::uint64_t window_busy_us = 0;
};

}  // namespace chokepoint::capture::socket
