#include "base/sys/wall_time.h"

#include <ctime>
#include <string>

#include "base/sys/clock.h"

namespace chokepoint::sys {

std::optional<std::int64_t> wall_ns_in(std::string_view rfc3339) {
  constexpr std::int64_t kLatest = 4'102'444'800;  // the year 2100
  constexpr int kMsDigits = 3;
  const std::string text(rfc3339);
  tm parts{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::int64_t seconds = rest == nullptr ? 0 : static_cast<std::int64_t>(timegm(&parts));
  if (seconds <= 0 || seconds >= kLatest) {
    return std::nullopt;
  }
  std::int64_t ms = 0;
  if (*rest == '.') {
    ++rest;
    for (int digit = 0; digit < kMsDigits; ++digit) {
      const bool is_digit = *rest >= '0' && *rest <= '9';
      ms = 10 * ms + (is_digit ? *rest++ - '0' : 0);
    }
  }
  return seconds * kNsPerSecond + ms * 1'000'000;
}

}  // namespace chokepoint::sys
