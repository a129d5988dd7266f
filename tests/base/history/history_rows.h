// Rows for tests of histories.
#pragma once

#include <string>

#include "base/history/row.h"

namespace chokepoint::history {

inline constexpr std::int64_t kMinute = 60'000'000'000;

inline Row row(const std::string& metric, std::int64_t minute, double value) {
  return {.series = {.subject = {.kind = SubjectKind::Path, .host = "a", .to = "b"},
                     .metric = metric,
                     .setting = "streams=1",
                     .unit = "Mb/s",
                     .better = documents::Better::More},
          .measured = {.wall_ns = minute * kMinute, .value = value, .source = "tcp.json"}};
}

inline HostState state(std::int64_t minute, const std::string& driver) {
  return {.host = "a", .wall_ns = minute * kMinute, .settings = {{"gpu", {{"driver", driver}}}}};
}

}  // namespace chokepoint::history
