// Which way a test goes, as its client sees it: Send means from the client to the server. A value.
#pragma once

#include <string_view>

#include "base/sys/error.h"

namespace chokepoint::control {

enum class Direction { Send, Receive, Both };

std::string_view name_of(Direction direction);
Result<Direction> direction_named(std::string_view name);

}  // namespace chokepoint::control
