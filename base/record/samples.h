// What is measured over and over: the rows that a producer pushes many times a second. Fixed size,
// trivially copyable, eight bytes a field, so that they pass through a queue without allocation.
//
// Times are monotonic nanoseconds. A sample stands for the span that ends at t_ns and is bin_ns
// long; a reading of one moment has bin_ns 0. When old detail is folded into coarser bins a row
// replaces several: `merged` is their number. What each column does then is declared in tables.h;
// its meaning and unit are in docs/internals/record.md. Values.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <variant>

#include "base/json/fields.h"

namespace chokepoint::record {

// A whole number that may not be known, in eight bytes, so that rows stay small and trivially
// copyable. Unknown is kept as NULL, never as 0. A value.

class Figure {
 public:
  constexpr Figure() = default;
  template <std::integral T>
  constexpr Figure(T value)  // NOLINT: rows are filled with plain numbers
      : value_(static_cast<std::int64_t>(value)) {}

  constexpr bool known() const { return value_ != kUnknown; }
  // What is kept; meaningful where known().
  constexpr std::int64_t value() const { return value_; }
  constexpr std::int64_t value_or(std::int64_t other) const { return known() ? value_ : other; }
  friend constexpr bool operator==(Figure, Figure) = default;

 private:
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();
  std::int64_t value_ = kUnknown;
};

// A time between two moments of one clock. A value.

struct Span {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t length_ns() const { return end_ns - start_ns; }
};

// Of a flow between its ends a and b; of a socket: the way in which it sends.
enum class Direction : std::int64_t { AToB = 0, BToA = 1 };

struct FlowSample {
  std::int64_t t_ns = 0;
  std::int64_t bin_ns = 0;
  std::int64_t merged = 1;
  std::int64_t flow = 0;
  Direction direction = Direction::AToB;
  Figure packets = {};
  Figure bytes = {};
  Figure payload_bytes = {};
  Figure retransmitted_packets = {};
  Figure retransmitted_bytes = {};
  Figure out_of_order = {};
  Figure duplicate_acks = {};
  Figure zero_windows = {};
  Figure window_full = {};
  Figure congestion_marks = {};
  Figure rtt_us = {};
  Figure min_rtt_us = {};
  Figure max_in_flight_bytes = {};
  Figure window_bytes = {};
  Figure min_window_bytes = {};
};

struct SocketSample {
  std::int64_t t_ns = 0;
  std::int64_t bin_ns = 0;
  std::int64_t merged = 1;
  std::int64_t flow = 0;
  Direction direction = Direction::AToB;
  Figure state = {};
  Figure congestion_state = {};
  Figure mss_bytes = {};
  Figure cwnd_packets = {};
  Figure ssthresh_packets = {};
  Figure rtt_us = {};
  Figure rtt_variance_us = {};
  Figure min_rtt_us = {};
  Figure receive_rtt_us = {};
  Figure timeout_us = {};
  Figure bytes_sent = {};
  Figure bytes_acked = {};
  Figure bytes_received = {};
  Figure bytes_retransmitted = {};
  Figure retransmits = {};
  Figure lost_packets = {};
  Figure unacked_packets = {};
  Figure reordering = {};
  Figure reorder_seen = {};
  Figure dsack_duplicates = {};
  Figure delivered = {};
  Figure delivered_ce = {};
  Figure delivery_bytes_per_s = {};
  Figure pacing_bytes_per_s = {};
  Figure app_limited = {};
  Figure busy_us = {};
  Figure receive_window_limited_us = {};
  Figure send_buffer_limited_us = {};
  Figure unsent_bytes = {};
  Figure send_queue_bytes = {};
  Figure receive_queue_bytes = {};
  Figure send_window_bytes = {};
  Figure receive_space_bytes = {};
};

constexpr double kUnknownReal = std::numeric_limits<double>::quiet_NaN();

// A reading of a series that only grows.
struct CounterSample {
  std::int64_t t_ns = 0;
  std::int64_t bin_ns = 0;
  std::int64_t merged = 1;
  std::int64_t series = 0;
  double value = kUnknownReal;
  double peak_per_s = kUnknownReal;  // the fastest growth seen inside the span
};

// A reading of a series that goes up and down.
struct GaugeSample {
  std::int64_t t_ns = 0;
  std::int64_t bin_ns = 0;
  std::int64_t merged = 1;
  std::int64_t series = 0;
  double value = kUnknownReal;
  double peak = kUnknownReal;
};

enum class StepSource : std::int64_t { Marks = 1, Output = 2, Collectives = 3, Traffic = 4 };

struct Step {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t merged = 1;
  std::int64_t number = 0;
  Figure rank = {};
  StepSource source = StepSource::Marks;
  Figure samples = {};  // of training data
  Figure busy_ns = {};  // sum of the merged steps' own times; unknown: end_ns − start_ns
  Figure longest_ns = {};
};

enum class CollectiveKind : std::int64_t {
  Unknown = 0,
  AllReduce = 1,
  AllGather = 2,
  ReduceScatter = 3,
  Broadcast = 4,
  Reduce = 5,
  Gather = 6,
  Scatter = 7,
  AllToAll = 8,
  Barrier = 9,
  Send = 10,
  Receive = 11,
};

// By their numbers.
constexpr std::array<std::string_view, 12> kCollectiveKinds{
    "unknown", "all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce",
    "gather",  "scatter",    "all-to-all", "barrier",        "send",      "receive"};

enum class CollectiveSource : std::int64_t { Gloo = 1, Nccl = 2, Traffic = 3 };

enum class CollectiveAlgorithm : std::int64_t {
  Unknown = 0,
  Tree = 1,
  Ring = 2,
  CollnetDirect = 3,
  CollnetChain = 4,
  Nvls = 5,
  NvlsTree = 6,
  Pat = 7,
};

enum class CollectiveProtocol : std::int64_t { Unknown = 0, LL = 1, LL128 = 2, Simple = 3 };

struct Collective {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t merged = 1;  // 0, on the way to the watch: it goes on; such rows are not kept
  std::int64_t number = 0;
  CollectiveKind kind = CollectiveKind::Unknown;
  CollectiveSource source = CollectiveSource::Gloo;
  Figure rank = {};
  Figure communicator = {};
  Figure bytes = {};
  Figure busy_ns = {};
  Figure longest_ns = {};
  // When this rank showed that it had come to it, when the last of its neighbours did, as seen
  // here, and that neighbour's connection; between them data first and last moved, either way.
  Figure own_ready_ns = {};
  Figure peer_ready_ns = {};
  Figure first_data_ns = {};
  Figure last_data_ns = {};
  Figure waited_ns = {};        // for the neighbour that came last, after this rank had come
  Figure kept_waiting_ns = {};  // for this rank, after all its neighbours had come
  Figure flow = {};
  // As NCCL reports it. The root, of a message the other rank, both as the communicator counts;
  // when the program enqueued it; and what the network's steps waited for, all channels' and all
  // steps' together, so that these compare with each other and not with a time.
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Unknown;
  CollectiveProtocol protocol = CollectiveProtocol::Unknown;
  Figure channels = {};
  Figure peer = {};
  Figure enqueued_ns = {};
  Figure gpu_wait_ns = {};      // for data of the own GPU, or for room on it
  Figure network_wait_ns = {};  // for the network
  Figure peer_wait_ns = {};     // for the receiver's credit
  Figure flush_wait_ns = {};    // for the flush over PCIe
};

// The moment at which one packet of a connection passed: the first with payload after a pause of
// its direction. The other end's record has the same packet, by its sequence number, and so the
// clocks of the two can be compared.
struct FlowMark {
  std::int64_t t_ns = 0;
  std::int64_t bin_ns = 0;
  std::int64_t merged = 1;
  std::int64_t flow = 0;
  Direction direction = Direction::AToB;
  std::int64_t sequence = 0;  // of TCP, as it stands in the packet
};

using Sample =
    std::variant<FlowSample, SocketSample, CounterSample, GaugeSample, Step, Collective, FlowMark>;

}  // namespace chokepoint::record

namespace chokepoint {

template <>
struct EnumNames<record::Direction> {
  using enum record::Direction;
  static constexpr std::string_view kWhat = "a_to_b or b_to_a";
  static constexpr auto kNames =
      std::to_array<EnumName<record::Direction>>({{AToB, "a_to_b"}, {BToA, "b_to_a"}});
};

template <>
struct EnumNames<record::StepSource> {
  using enum record::StepSource;
  static constexpr std::string_view kWhat = "marks, output, collectives or traffic";
  static constexpr auto kNames = std::to_array<EnumName<record::StepSource>>(
      {{Marks, "marks"}, {Output, "output"}, {Collectives, "collectives"}, {Traffic, "traffic"}});
};

}  // namespace chokepoint
