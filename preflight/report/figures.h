// The parts of chokepoint.preflight/1 that its writer (document.cc) and its reader (reading.cc)
// share. No I/O.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/output.h"
#include "base/sys/error.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

// A figure of pairs or of ways, by its name in the document. Between a thousand hosts there are
// half a million pairs, so the document has one list for each figure.
template <class T>
struct FigureColumn {
  const char* name;
  Figure T::* figure;
  bool may_be_negative = false;
};

inline constexpr std::array<FigureColumn<PairResult>, 6> kPairColumns{
    {{"rtt_ms", &PairResult::rtt_ms},
     {"rtt_p99_ms", &PairResult::rtt_p99_ms},
     {"rtt_min_ms", &PairResult::rtt_min_ms},
     {"clock_offset_ms", &PairResult::clock_offset_ms, true},
     {"clock_uncertainty_ms", &PairResult::clock_uncertainty_ms},
     {"rdma_latency_us", &PairResult::rdma_latency_us}}};

inline constexpr std::array<FigureColumn<WayResult>, 13> kWayColumns{
    {{"tcp_mbps", &WayResult::tcp_mbps},
     {"alone_mbps", &WayResult::alone_mbps},
     {"together_mbps", &WayResult::together_mbps},
     {"retransmitted_percent", &WayResult::retransmitted_percent},
     {"window_share", &WayResult::window_share},
     {"send_buffer_share", &WayResult::send_buffer_share},
     {"largest_window_bytes", &WayResult::largest_window_bytes},
     {"sender_cpu_percent", &WayResult::sender_cpu_percent},
     {"receiver_cpu_percent", &WayResult::receiver_cpu_percent},
     {"mtu_bytes", &WayResult::mtu_bytes},
     {"black_hole_bytes", &WayResult::black_hole_bytes},
     {"hops", &WayResult::hops},
     {"rdma_mbps", &WayResult::rdma_mbps}}};

inline constexpr std::size_t kLongestName = 1024;  // letters that a document may use

using Ends = std::pair<HostIndex, HostIndex>;

std::unexpected<Error> malformed(std::string_view subject, std::string_view reason);

// Nullopt if it is no whole number, or negative.
std::optional<std::uint64_t> count_in(const cli::Json& json);

cli::Json text_or_null(const std::string& text);

cli::Json json_of_error(const std::optional<Error>& error);
Result<std::optional<Error>> error_in(const cli::Json& object, const char* name);

cli::Json json_of_ways(const std::vector<Ends>& ways);  // [[from, to], …]
Result<std::vector<Ends>> ways_in(const cli::Json& object, const char* name, std::size_t hosts);

// A list of indices below `hosts`.
Result<std::vector<HostIndex>> hosts_in(const cli::Json& object, const char* name,
                                        std::size_t hosts);

// A list of texts, none longer than a name or an address is.
Result<std::vector<std::string>> texts_in(const cli::Json& object, const char* name);

// The list itself; an empty one where it is null or not there.
Result<const cli::Json*> list_in(const cli::Json& object, const char* name);

// Each of the list by read(element), until one fails.
template <class T, class Read>
Result<std::vector<T>> each_in(const cli::Json& object, const char* name, Read read) {
  TRY(const cli::Json* list, list_in(object, name));
  std::vector<T> values;
  values.reserve(list->size());
  for (const cli::Json& each : *list) {
    TRY(T value, read(each));
    values.push_back(std::move(value));
  }
  return values;
}

// With as few digits as identify the figure, because there may be a million of them: read back it
// is the same. Null if it was not measured or is not a number.
cli::Json json_of(const Figure& figure);

// A share, with three decimals.
cli::Json json_of_share(const Figure& share);

// A list for each figure, one entry a pair, null if it was not measured; null instead of a list if
// it was measured nowhere:
// {"count", "a": […], "b": […], "rtt_ms": […], …, "there": {"tcp_mbps": […], …}, "back": {…}}
cli::Json json_of_pairs(const Measured& measured);

// Pairs among so many hosts, by a, then b, each at most once; else Malformed.
Result<std::vector<PairResult>> pairs_in(const cli::Json& json, std::size_t hosts);

// The answers to lookups of the hosts' names. Nearly all hosts get the same, so each answer is
// listed once, with the hosts that got it:
//   [{"asked": 3, "addresses": ["10.0.0.3"], "error": null, "by": [0, 1, 2]}, …]
cli::Json json_of_names(const std::vector<HostResult>& hosts);

// Sets each host's answers, in the order of the hosts that were asked for.
Result<> read_names(const cli::Json& json, std::vector<HostResult>& hosts);

}  // namespace chokepoint::preflight
