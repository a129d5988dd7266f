// Names in the record that more than one part of the program relies on.
#pragma once

#include <string_view>

namespace chokepoint::record {

// Series, as base/record/series.def describes them. Counters of the job begin at 0 with it.
#define SERIES(constant, name, ...) constexpr std::string_view constant = name;
#define FAMILY(constant, prefix, ...) constexpr std::string_view constant = prefix;
#include "base/record/series.def"
#undef FAMILY
#undef SERIES
// Behind it stands the common name of what drivers count, "received_pauses".
constexpr std::string_view kNicPrefix = "nic.";

// Event: the job makes no progress; detail: see base/record/stall.h.
constexpr std::string_view kStall = "stall";

// Event: rows that did not reach the record; detail {"reason","rows","until_ns"}.
constexpr std::string_view kDropped = "dropped";

// Event: packets that the kernel or the interface lost before they were seen; the subject is the
// interface, detail {"kernel","interface"}.
constexpr std::string_view kPacketsDropped = "packets-dropped";

// Event of a capture: a host of the job that its packets show, whether they were captured there or
// not. The subject is its address, detail {"number"}: the rank of its collectives and steps in this
// record, since the job's own ranks are not in packets.
constexpr std::string_view kCapturedHost = "captured-host";

// Event: while the job runs, tests may take this share of its time and traffic; detail {"percent"}.
constexpr std::string_view kProbesAllowed = "probes-allowed";
// Judgement: a larger share would disturb the job.
inline constexpr double kMaxAllowedPercent = 20;

// Event: the figures are served to Prometheus; the subject is the address, "0.0.0.0:9465".
constexpr std::string_view kMetricsServed = "metrics-served";

// Facts of this category: what could not be seen of the host, the subject, and why.
constexpr std::string_view kNotSeen = "not-seen";

// Event: a process of the job computes on a GPU, the subject; detail {"pid"}.
constexpr std::string_view kGpuProcess = "gpu-process";
// Event: a GPU, the subject, is kept below its clocks; detail {"reason","state":"began"}, and later
// {"reason","state":"ended","held_s"}. One that has no end held to the end of the session.
constexpr std::string_view kGpuThrottled = "gpu-throttled";

// Events; the subject is the interface.
constexpr std::string_view kInterfaceDown = "interface-down";  // {"state","before","enabled"}
constexpr std::string_view kInterfaceUp = "interface-up";      // likewise
constexpr std::string_view kInterfaceGone = "interface-gone";
constexpr std::string_view kInterfaceCame = "interface-came";
constexpr std::string_view kLinkSpeedChanged = "link-speed-changed";  // {"mbps","before_mbps"}

}  // namespace chokepoint::record
