// What the codes of a record are called. Empty for a code that this version does not know. Pure.
#pragma once

#include <string_view>

#include "base/record/entities.h"

namespace chokepoint::analysis {

std::string_view word_of(record::Direction direction);            // "a_to_b"
std::string_view word_of(record::SeriesKind kind);                // "counter"
std::string_view word_of(record::StepSource source);              // "marks"
std::string_view word_of(record::CollectiveKind kind);            // "all-reduce"
std::string_view word_of(record::CollectiveSource source);        // "gloo"
std::string_view word_of(record::CollectiveAlgorithm algorithm);  // "ring"
std::string_view word_of(record::CollectiveProtocol protocol);    // "simple"

}  // namespace chokepoint::analysis
