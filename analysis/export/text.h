// Text out of a record, made fit for where it goes. Names and commands are whatever somebody gave:
// quotes, line ends, control characters, bytes that are not UTF-8. Each function appends to `out`
// and never fails. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace chokepoint::analysis {

// With the quotes around it.
void append_json(std::string& out, std::string_view text);

// Between the quotes of a label's value in Prometheus' text format.
void append_label(std::string& out, std::string_view text);

}  // namespace chokepoint::analysis
