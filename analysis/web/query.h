// Parameters of an address: "subject=gpu1+%3E+gpu2&metric=rtt_ms". Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chokepoint::analysis::web {

// Decoded. Nothing where there is none of that name, or it is no valid text: half a letter, a
// control character, more than 4096 bytes.
std::optional<std::string> parameter(std::string_view query, std::string_view name);

}  // namespace chokepoint::analysis::web
