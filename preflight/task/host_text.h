// Names and addresses of hosts that come from elsewhere and go into a command line. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace chokepoint::preflight {

inline constexpr std::size_t kLongestHost = 255;

// A host's name or address as it may stand in an argument of its own: no flag, no list, no control
// characters, no longer than names may be.
bool is_host_text(std::string_view text);

}  // namespace chokepoint::preflight
