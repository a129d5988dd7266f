// Binary data as text in hexadecimal, so that any store can carry it. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chokepoint::probe::collective {

std::string to_hex(std::string_view bytes);
// Nothing where it is no such text.
std::optional<std::string> from_hex(std::string_view text);

}  // namespace chokepoint::probe::collective
