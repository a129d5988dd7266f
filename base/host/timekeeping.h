// Which clock the kernel runs on and whether somebody keeps it right. Reads under the given root,
// and asks the running kernel where that is live.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/host/fact.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct Timekeeping {
  std::optional<bool> synchronised;              // as the kernel was told by whoever keeps it
  std::optional<std::int64_t> largest_error_us;  // what the kernel reckons it may be off by
  std::vector<std::string> keepers;              // "chronyd", "ptp4l": programs that run
  std::optional<std::string> source;             // tsc, hpet, kvm-clock
  std::vector<std::string> sources;              // those to choose from
};

Timekeeping read_timekeeping(const sys::Root& root);
void append_facts(const Timekeeping& time, Facts& facts);

}  // namespace chokepoint::host
