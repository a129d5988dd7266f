// What one TCP connection carries at most over a path: the window over the round trip, and what
// loss leaves of it by the congestion control. Rates are of payload. Pure functions; loss is the
// share of packets, above 0.
#pragma once

#include <optional>

#include "analysis/predict/job_profile.h"

namespace chokepoint::analysis {

enum class Congestion { Cubic, Reno, Bbr };

constexpr double kSegmentBytes = 1448;  // of payload in 1500 bytes of IPv4 with timestamps
constexpr double kFrameBytes = 1538;    // what such a packet takes of an Ethernet's time

double window_mbps(double window_bytes, double rtt_ms);

// Mathis et al. 1997: MSS/RTT · √(3/2)/√p, every packet acknowledged.
double mathis_mbps(double rtt_ms, double loss);

// Padhye, Firoiu, Towsley, Kurose 1998, with its timeouts; `acked` packets an acknowledgement.
double pftk_mbps(double rtt_ms, double loss, double timeout_ms, double acked = 1);

// RFC 9438, section 5.1: (C(3+β)/(4(1−β)))^¼ · RTT^¾ / p^¾ packets a round trip, C = 0.4 and
// β = 0.7; and not less than Reno, whose share CUBIC takes at least.
double cubic_mbps(double rtt_ms, double loss);

struct TcpLimit {
  double rate_mbps = 0;
  const char* what = "link";  // "link", "window", "loss"
};

// The least of them for one connection over a link of this rate, in payload. Nothing where neither
// a rate nor a round trip with window or loss is known.
std::optional<TcpLimit> tcp_limit(const PathProfile& path, Congestion congestion);

}  // namespace chokepoint::analysis
