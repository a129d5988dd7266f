// The names by which both sides of a test, its document and its flags call what a test is made of.
// Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/sys/error.h"
#include "rdma/perf/plan.h"
#include "rdma/verbs/types.h"

namespace chokepoint::rdma::session {

// Of a device, an interface or a GID, as the sides tell it each other.
inline constexpr std::size_t kLongestName = 63;

std::string_view name_of(verbs::Operation operation);  // "write_immediate"
Result<verbs::Operation> operation_named(std::string_view name);

std::string_view name_of(perf::Metric metric);  // "bw", "lat"
Result<perf::Metric> metric_named(std::string_view name);

std::string_view name_of(verbs::GidType type);  // "RoCE v2", as the kernel calls it
Result<verbs::GidType> gid_type_named(std::string_view name);

// Where the memory of one side of a test lies.
struct Memory {
  enum class Kind { Host, Huge, Gpu };
  Kind kind = Kind::Host;
  int gpu = 0;

  bool operator==(const Memory&) const = default;
};

std::string text_of(const Memory& memory);  // "host", "huge", "gpu:1"
Result<Memory> memory_named(std::string_view text);

}  // namespace chokepoint::rdma::session
