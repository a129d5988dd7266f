// What is remarkable about a flow, in words: what a person should look at first. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "capture/flow/facts.h"

namespace chokepoint::capture {

// "10.0.0.1:40112 > 10.0.0.2:5201"; each end at most `most` letters wide, cut at its front.
std::string ends_words(const flow::FlowFacts& facts, std::size_t most);

// "-> resent 0.8 % (fast), window full 40 % of the busy time": an entry a direction, and one for
// what concerns both; empty where nothing is.
std::vector<std::string> remarkable(const flow::FlowFacts& facts);

}  // namespace chokepoint::capture
