// What set a retransmission off, told from what was heard before it. Rules, in order:
//
//   a timeout is being recovered from, up to what was sent then     timeout
//   a silence as long as the shortest timer                         timeout
//   the receiver had reported: SACK above it, or duplicate ACKs     fast
//   such a report is being recovered from, up to what was sent then fast
//   the other direction is not seen                                 unknown
//   the last segment, where SACK was agreed on                      probe
//   else                                                            unknown
//
// Pure functions.
#pragma once

#include <cstdint>

#include "capture/flow/half.h"

namespace chokepoint::capture::flow {

enum class Cause : std::uint8_t { Fast, Timeout, Probe, Unknown };

// The range is below what `half` had sent already; `time_ns` is now.
Cause cause_of(const Half& half, const Half& other, Range range, std::int64_t time_ns);

// The receiver said that something at or before the range's end is missing.
bool is_reported(const Half& half, Range range);

}  // namespace chokepoint::capture::flow
