// What a path gives to one rank's library: payload a second, and the time from rank to rank. A
// throughput that was measured over TCP is taken as it is.
// Libraries do not use all of a link, so what is not measured is assumed here;
// docs/internals/predict.md lists the assumptions. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>

#include "analysis/predict/job_profile.h"

namespace chokepoint::analysis {

// Decides what loss leaves of a connection's rate.
enum class Congestion { Cubic, Reno, Bbr };

struct TcpLimit {
  double rate_mbps = 0;
  const char* what = "link";  // "link", "window", "loss"
};

// The smallest of them for one connection over a link of this rate, in payload. nullopt if neither
// a rate nor a round trip with window or loss is known.
std::optional<TcpLimit> tcp_limit(const PathProfile& path, Congestion congestion);

enum class Transport { Unknown, Tcp, Rdma };

// Which end of the range of what is not known to assume.
enum class Outlook { Usual, Best, Worst };

struct Wire {
  double rate_mbps = 0;  // of a long transfer
  double line_mbps = 0;  // of what fits into the window
  double link_mbps = 0;  // that the library leaves unused a part of; 0: it uses all
  double window_bytes = 0;
  double rtt_ms = 0;
  double alpha_ms = 0;  // one hop
  // "link", "window", "loss", "library", "throughput" as measured, "intra-link" of a host's inside
  std::string limited_by = {};
  Transport transport = Transport::Tcp;
};

// How many of so many bytes pass in a millisecond: a window full at the line's rate, the rest as
// fast as windows are acknowledged.
double bytes_per_ms(const Wire& wire, double bytes);

// The same wire as a library without a limit of its own would have it.
Wire without_library(Wire wire);

// Torch's remote calls, in place of a library of collectives.
inline constexpr const char* kTensorPipe = "tensorpipe";

// NCCL over a link above 25 Gb/s is taken for RDMA, all else for TCP.
Transport transport_of(Transport given, const std::string& backend, double rate_mbps);

struct WireQuestion {
  PathProfile path = {};  // rate_mbps is known
  std::string backend = {};
  Transport transport = Transport::Unknown;
  Congestion congestion = Congestion::Cubic;
  // The path was measured under the job, so that what the library makes of it is in the figures.
  bool is_measured = false;
};

Wire wire_of(const WireQuestion& question, Outlook outlook);

// A rank's link inside its host: NVLink, PCIe, shared memory. Its rate is one way.
Wire inside_wire_of(double rate_mbps, Outlook outlook);

}  // namespace chokepoint::analysis
