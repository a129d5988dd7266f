// The figures of pairs and of ways by the names that they have in the document. Between a thousand
// hosts there are half a million pairs, so the document keeps each figure of all pairs together.
#pragma once

#include <array>

#include "preflight/result/measured.h"

namespace chokepoint::preflight {

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

}  // namespace chokepoint::preflight
