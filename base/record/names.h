// Names in the record that more than one part of the program relies on.
#pragma once

#include <string_view>

namespace chokepoint::record {

// Counters of the watched job's Ethernet frames, without FCS, beginning at 0 with the job; one
// series an interface.
constexpr std::string_view kJobSentBytes = "job.sent_bytes";
constexpr std::string_view kJobReceivedBytes = "job.received_bytes";

// Counter of the time that chokepoint itself spent on a CPU, from its start, in nanoseconds.
constexpr std::string_view kOwnCpu = "chokepoint.cpu_ns";

// Event: rows that did not reach the record; detail {"reason","rows","until_ns"}.
constexpr std::string_view kDropped = "dropped";

}  // namespace chokepoint::record
