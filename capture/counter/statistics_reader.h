// A driver's own counters of an interface, as `ethtool -S` shows them: asked of the kernel for the
// live root, read from recorded answers for a copy. Owned by its user; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::capture::counter {

class StatisticsReader {
 public:
  StatisticsReader() = default;
  StatisticsReader(const StatisticsReader&) = delete;
  StatisticsReader& operator=(const StatisticsReader&) = delete;
  virtual ~StatisticsReader() = default;

  virtual Result<std::vector<std::string>> names(const std::string& interface) = 0;
  // In the order of the names; another number of them means that the driver was set up anew.
  virtual Result<std::vector<std::int64_t>> values(const std::string& interface,
                                                   std::size_t count) = 0;
};

// Null where the kernel cannot be asked.
std::unique_ptr<StatisticsReader> statistics_reader_for(const sys::Root& root);

}  // namespace chokepoint::capture::counter
