// The history: rows of many commands, of many hosts, over years. Several processes write and read
// at once. Nothing in it is trusted: a row of it is foreign text until it is shown.
//
// One thread at a time. Calls block on a disk or a server.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/history/row.h"
#include "base/sys/error.h"

namespace chokepoint::history {

// Rows of each series before those that are wanted: the newest of them.
struct Before {
  std::int64_t since_ns = 0;
  std::int64_t most = 0;
};

struct Wanted {
  std::string subject = {};  // as text_of() has it, or the beginning of it; empty: all
  std::string metric = {};   // empty: all
  std::int64_t since_ns = 0;
  Before before = {};  // what a change after since_ns is compared with
};

// Points of a series, the oldest first.
struct MeasuredSeries {
  Series series = {};
  std::vector<Measured> points = {};
};

// A host was set up so from the first to the last time that it was seen.
struct StateSpan {
  std::string host = {};
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::shared_ptr<const host::Settings> settings = {};  // equal ones are one object
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // How many rows were new.
  virtual Result<std::int64_t> add(const Batch& batch) = 0;
  virtual Result<std::vector<MeasuredSeries>> read(const Wanted& wanted) = 0;
  // Of all hosts, by host, the oldest first.
  virtual Result<std::vector<StateSpan>> states() = 0;
  // Rows of before that; how many went.
  virtual Result<std::int64_t> prune(std::int64_t before_ns) = 0;
  // Likewise, but each series keeps one of each day (UTC).
  virtual Result<std::int64_t> thin(std::int64_t before_ns) = 0;
};

}  // namespace chokepoint::history
