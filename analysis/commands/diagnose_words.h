// Numbers of a diagnosis as its pages write them. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis {

std::string number_text(double value);  // three digits or all before the point: 0.0521, 197
std::string time_text(double ms);       // "0.52 ms", "143 ms", "12.3 s"
std::string quantity_text(double value, const std::string& unit);  // "197 Mb/s", "12 %"

// Parts of a whole, so that they add up: all with as many decimals as suit the whole.
std::string part_text(double ms, double whole_ms);  // "143.0"
std::string whole_text(double whole_ms);            // "205.5 ms"

// "throughput from a to b 197 Mb/s"; without a source.
std::string evidence_text(const Evidence& evidence);
// Several, each with its source but where the next has the same: "x 1 ms, y 2 ms (packets of a)".
std::string evidence_text(const std::vector<Evidence>& evidence, std::size_t most);

// "a faster link: chokepoint predict --from runs/a --link 1G"
std::string advice_text(const Advice& advice);
// The same in lines of at most `width` letters behind an indent; a command that does not fit behind
// the words stands whole on a line of its own.
std::string with_command(const std::string& text, const std::string& command, int width,
                         int indent);

}  // namespace chokepoint::analysis
