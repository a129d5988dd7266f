// What a path gives to one rank's library: payload a second, and the time from rank to rank. A link
// is more than the libraries make of it, so this is where what is not measured is assumed; the
// assumptions are docs/predict.md's. Pure functions.
#pragma once

#include <string>

#include "analysis/predict/job_profile.h"
#include "analysis/predict/tcp_limits.h"

namespace chokepoint::analysis {

enum class Transport { Unknown, Tcp, Rdma };

// Which side of what is not known to take.
enum class Outlook { Usual, Best, Worst };

struct Wire {
  double rate_mbps = 0;  // of a long transfer
  double line_mbps = 0;  // of what fits into the window
  double window_bytes = 0;
  double rtt_ms = 0;
  double alpha_ms = 0;          // one hop
  std::string limited_by = {};  // "link", "window", "loss", "library"
  Transport transport = Transport::Tcp;
};

// How many of so many bytes pass in a millisecond: a window full at the line's rate, the rest as
// fast as windows are acknowledged.
double bytes_per_ms(const Wire& wire, double bytes);

// NCCL over a link above 25 Gb/s is taken for RDMA, all else for TCP.
Transport transport_of(Transport told, const std::string& backend, double rate_mbps);

struct WireQuestion {
  PathProfile path = {};  // rate_mbps is there
  std::string backend = {};
  Transport transport = Transport::Unknown;
  Congestion congestion = Congestion::Cubic;
  // The path was measured under the job, so that what the library makes of it is in the figures.
  bool is_measured = false;
};

Wire wire_of(const WireQuestion& question, Outlook outlook);

}  // namespace chokepoint::analysis
