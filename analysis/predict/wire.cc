#include "analysis/predict/wire.h"

#include <algorithm>
#include <cmath>

#include "base/math/tcp_rate.h"

namespace chokepoint::analysis {
namespace {

constexpr double kFastestUsualTcpMbps = 25'000;
// Linux waits at least this long beyond the round trip before a retransmission time-out.
constexpr double kMinTimeoutMs = 200;

double loss_mbps(double rtt_ms, double loss, Congestion congestion) {
  switch (congestion) {
    case Congestion::Reno:
      return math::pftk_mbps(rtt_ms, loss, kMinTimeoutMs + rtt_ms);
    case Congestion::Cubic:
      return math::cubic_mbps(rtt_ms, loss);
    case Congestion::Bbr:  // measures what arrives, and ignores loss
      return INFINITY;
  }
  return INFINITY;
}

void take(std::optional<TcpLimit>& least, double rate_mbps, const char* what) {
  if (!least || rate_mbps < least->rate_mbps) {
    least = TcpLimit{.rate_mbps = rate_mbps, .what = what};
  }
}

// By outlook: usual, best, worst.
struct Range {
  double usual;
  double best;
  double worst;
  double of(Outlook outlook) const {
    return outlook == Outlook::Usual ? usual : outlook == Outlook::Best ? best : worst;
  }
};

// What the libraries reach between two hosts however fast the link: one thread reduces for Gloo,
// one thread drives one socket for NCCL. The usual values are those of one table, case 1 of
// docs/internals/predict.md, so that this case proves nothing of them; best and worst are assumed.
constexpr Range kGlooMbps{6900, 20'000, 5000};
constexpr Range kNcclSocketMbps{13'000, 40'000, 9000};
// NCCL's share of an RDMA link's rate in a ring of few ranks.
constexpr Range kRdmaShare{0.465, 0.92, 0.4};

// What a hop costs beyond the propagation: wake-ups and copies, by transport.
constexpr Range kTcpHopMs{0.03, 0.015, 0.1};
constexpr Range kRdmaHopMs{0.01, 0.005, 0.02};
// Unloaded round trips of a LAN, if none is given.
constexpr Range kTcpRttMs{0.1, 0.03, 0.3};
constexpr Range kRdmaRttMs{0.005, 0.002, 0.02};

// What of a link inside a host NCCL counts on: 20 of an NVLink's 25 GB/s one way, 12 of PCIe 3.0
// x16's 15.75 (src/graph/topo.h of NCCL 2.30). The worst is what PCIe carried in case 1's table.
constexpr Range kInsideShare{0.8, 0.95, 0.45};
// Ring and Simple: 3.4 µs over NVLink, 5.7 over PCIe (hwLatencies in src/graph/tuning.cc).
constexpr Range kInsideHopMs{0.0057, 0.0034, 0.02};

// What Linux lets be in flight with the default tcp_wmem and tcp_rmem.
constexpr Range kWindowBytes{3e6, 64e6, 1.5e6};

void limit_by_library(Wire& wire, const WireQuestion& question, Outlook outlook) {
  if (question.backend == kTensorPipe) return;  // nobody has measured it
  const bool is_gloo = question.backend == "gloo";
  const double most = (is_gloo ? kGlooMbps : kNcclSocketMbps).of(outlook);
  if (most < wire.rate_mbps) {
    wire.link_mbps = wire.rate_mbps;
    wire.rate_mbps = most;
    wire.limited_by = "library";
  }
}

void limit_by_window(Wire& wire) {
  wire.line_mbps = wire.rate_mbps;
  if (wire.rtt_ms > 0 && math::window_mbps(wire.window_bytes, wire.rtt_ms) < wire.rate_mbps) {
    wire.rate_mbps = math::window_mbps(wire.window_bytes, wire.rtt_ms);
    wire.limited_by = "window";
  }
}

}  // namespace

std::optional<TcpLimit> tcp_limit(const PathProfile& path, Congestion congestion) {
  std::optional<TcpLimit> least;
  const double delivered = 1 - path.loss.value_or(0);
  if (path.rate_mbps) {
    take(least, math::line_goodput(*path.rate_mbps) * delivered, "link");
  }
  if (const double rtt_ms = path.rtt_ms.value_or(0); rtt_ms > 0) {
    if (path.window_bytes) {
      take(least, math::window_mbps(*path.window_bytes, rtt_ms), "window");
    }
    if (path.loss.value_or(0) > 0) {
      take(least, loss_mbps(rtt_ms, *path.loss, congestion), "loss");
    }
  }
  return least;
}

double bytes_per_ms(const Wire& wire, double bytes) {
  const double line = wire.line_mbps * 1000 / 8;
  if (wire.rate_mbps >= wire.line_mbps || bytes <= wire.window_bytes) return line;
  const double long_run = wire.rate_mbps * 1000 / 8;
  return bytes / (wire.window_bytes / line + (bytes - wire.window_bytes) / long_run);
}

Wire without_library(Wire wire) {
  if (wire.link_mbps <= 0) return wire;
  const bool is_window = wire.rate_mbps < wire.line_mbps;
  wire.line_mbps = wire.link_mbps;
  if (!is_window) wire.rate_mbps = wire.link_mbps;
  return wire;
}

Transport transport_of(Transport given, const std::string& backend, double rate_mbps) {
  if (given != Transport::Unknown) return given;
  return backend != "gloo" && backend != kTensorPipe && rate_mbps > kFastestUsualTcpMbps
             ? Transport::Rdma
             : Transport::Tcp;
}

Wire wire_of(const WireQuestion& question, Outlook outlook) {
  const double rate_mbps = question.path.rate_mbps.value_or(0);
  const Transport transport = question.path.payload_mbps
                                  ? Transport::Tcp
                                  : transport_of(question.transport, question.backend, rate_mbps);
  const bool is_tcp = transport == Transport::Tcp;
  Wire wire{.rtt_ms = question.path.rtt_ms.value_or((is_tcp ? kTcpRttMs : kRdmaRttMs).of(outlook)),
            .transport = transport};
  wire.alpha_ms = wire.rtt_ms / 2 + (is_tcp ? kTcpHopMs : kRdmaHopMs).of(outlook);
  if (!is_tcp) {
    wire.rate_mbps = rate_mbps * (question.is_measured ? 1 : kRdmaShare.of(outlook));
    wire.line_mbps = wire.rate_mbps;
    wire.limited_by = question.is_measured ? "link" : "library";
    return wire;
  }
  PathProfile path = question.path;
  if (path.payload_mbps) {
    wire.rate_mbps = wire.line_mbps = *path.payload_mbps;
    wire.limited_by = "throughput";
    return wire;
  }
  wire.window_bytes = path.window_bytes.value_or(kWindowBytes.of(outlook));
  path.window_bytes.reset();
  const std::optional<TcpLimit> limit = tcp_limit(path, question.congestion);
  wire.rate_mbps = limit ? limit->rate_mbps : 0;
  wire.limited_by = limit ? limit->what : "link";
  if (!question.is_measured) {
    limit_by_library(wire, question, outlook);
  }
  limit_by_window(wire);
  return wire;
}

Wire inside_wire_of(double rate_mbps, Outlook outlook) {
  const double payload_mbps = rate_mbps * kInsideShare.of(outlook);
  return {.rate_mbps = payload_mbps,
          .line_mbps = payload_mbps,
          .alpha_ms = kInsideHopMs.of(outlook),
          .limited_by = "intra-link",
          .transport = Transport::Unknown};
}

}  // namespace chokepoint::analysis
