// What one TCP connection carries at most: published models. Rates are of payload in Mb/s, loss is
// a share of packets above 0. Pure functions; any thread.
#pragma once

namespace chokepoint::math {

inline constexpr double kSegmentBytes = 1448;  // of payload in 1500 bytes of IPv4 with timestamps
// What such a packet takes of an Ethernet's time: header and checksum 18, preamble 8, gap 12.
inline constexpr double kFrameBytes = 1538;

// Of a link's rate, where every packet is full.
constexpr double line_goodput(double link_mbps) { return link_mbps * kSegmentBytes / kFrameBytes; }

// The share of a receive buffer that Linux offers as window: half where tcp_adv_win_scale is 1, its
// default before Linux 6.6, which measures the share of each connection since
// (net/ipv4/tcp_input.c).
inline constexpr double kReceiveBufferShare = 0.5;
// The share of a send buffer that is in flight at the least while its writer waits: the writer is
// woken once a third is free (sk_stream_is_writeable, include/net/sock.h).
inline constexpr double kSendBufferShare = 2.0 / 3;

// The share of segments lost below which the window of CUBIC or Reno grows faster than it shrinks,
// on local networks: about one loss in 50,000 segments.
inline constexpr double kMinHarmfulLoss = 2e-5;

// A window a round trip.
double window_mbps(double window_bytes, double rtt_ms);

// Mathis et al. 1997: MSS/RTT · √(3/2)/√p, every packet acknowledged.
double mathis_mbps(double rtt_ms, double loss);

// Padhye, Firoiu, Towsley, Kurose 1998, with its timeouts; `acked` packets an acknowledgement.
double pftk_mbps(double rtt_ms, double loss, double timeout_ms, double acked = 1);

// RFC 9438, section 5.1: (C(3+β)/(4(1−β)))^¼ · RTT^¾ / p^¾ packets a round trip, C = 0.4 and
// β = 0.7; and not less than Reno's rate, which CUBIC reaches at least.
double cubic_mbps(double rtt_ms, double loss);

}  // namespace chokepoint::math
