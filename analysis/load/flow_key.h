// What is the same of a connection in the records of both its ends. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "base/record/entities.h"

namespace chokepoint::analysis {

// "10.0.0.1" of "10.0.0.1/24" and of "::ffff:10.0.0.1"; without a scope, which each host gives its
// own names.
std::string plain_address(const std::string& text);

using FlowEnd = std::pair<std::string, std::int64_t>;  // address and port
FlowEnd end_a(const record::Flow& row);
FlowEnd end_b(const record::Flow& row);

// Protocol and ends, whichever of them is a.
using FlowKey = std::tuple<std::string, FlowEnd, FlowEnd>;
FlowKey key_of(const record::Flow& row);

}  // namespace chokepoint::analysis
