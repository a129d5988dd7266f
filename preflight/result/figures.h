// What a figure of a preflight is. Between a thousand hosts there are a million of them, so they
// are kept small. Values.
#pragma once

#include <cstdint>
#include <optional>

namespace chokepoint::preflight {

using HostIndex = std::uint32_t;  // in the order in which the hosts were given

using Figure = std::optional<float>;  // nothing: not measured

}  // namespace chokepoint::preflight
