// Joins what the nodes saw of the same connections, and the keys by which they are the same. The
// caller's thread.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// Fills run.connections. The flows of a second end are turned, so that a and b are the same ends.
void join_connections(RunData& run);

// "10.0.0.1" of "10.0.0.1/24" and of "::ffff:10.0.0.1"; without a scope, whose names differ by
// host.
std::string plain_address(const std::string& text);

// Of both directions together, by the end that counted more; 0 where none counted.
double payload_of(const RunData& run, const Connection& connection);

using FlowEnd = std::pair<std::string, std::int64_t>;  // address and port
FlowEnd end_a(const record::Flow& row);
FlowEnd end_b(const record::Flow& row);

// Protocol and ends in a fixed order: the same in the records of both ends.
using FlowKey = std::tuple<std::string, FlowEnd, FlowEnd>;
FlowKey key_of(const record::Flow& row);

}  // namespace chokepoint::analysis
