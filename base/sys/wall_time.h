// Moments that other programs, hosts and documents wrote. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace chokepoint::sys {

// Of RFC 3339 in UTC, as clock.h writes it, with its milliseconds; nullopt where it is none, or
// before 1970 or after 2100.
std::optional<std::int64_t> wall_ns_in(std::string_view rfc3339);

}  // namespace chokepoint::sys
