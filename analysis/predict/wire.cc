#include "analysis/predict/wire.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

constexpr double kFastestUsualTcpMbps = 25'000;

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
// one thread drives one socket for NCCL.
constexpr Range kGlooMbps{6900, 20'000, 5000};
constexpr Range kNcclSocketMbps{13'000, 40'000, 9000};
// NCCL's share of an RDMA link's rate in a ring of few ranks.
constexpr Range kRdmaShare{0.465, 0.92, 0.4};

// What a hop costs beyond the propagation: wake-ups and copies, by transport.
constexpr Range kTcpHopMs{0.03, 0.015, 0.1};
constexpr Range kRdmaHopMs{0.01, 0.005, 0.02};
// Unloaded round trips of a LAN, where nobody says.
constexpr Range kTcpRttMs{0.1, 0.03, 0.3};
constexpr Range kRdmaRttMs{0.005, 0.002, 0.02};

// What Linux lets be in flight where nobody has raised tcp_wmem and tcp_rmem.
constexpr Range kWindowBytes{3e6, 64e6, 1.5e6};

void limit_by_library(Wire& wire, const WireQuestion& question, Outlook outlook) {
  const bool is_gloo = question.backend == "gloo";
  const double most = (is_gloo ? kGlooMbps : kNcclSocketMbps).of(outlook);
  if (most < wire.rate_mbps) {
    wire.rate_mbps = most;
    wire.limited_by = "library";
  }
}

void limit_by_window(Wire& wire) {
  wire.line_mbps = wire.rate_mbps;
  if (wire.rtt_ms > 0 && window_mbps(wire.window_bytes, wire.rtt_ms) < wire.rate_mbps) {
    wire.rate_mbps = window_mbps(wire.window_bytes, wire.rtt_ms);
    wire.limited_by = "window";
  }
}

}  // namespace

double bytes_per_ms(const Wire& wire, double bytes) {
  const double line = wire.line_mbps * 1000 / 8;
  if (wire.rate_mbps >= wire.line_mbps || bytes <= wire.window_bytes) return line;
  const double long_run = wire.rate_mbps * 1000 / 8;
  return bytes / (wire.window_bytes / line + (bytes - wire.window_bytes) / long_run);
}

Transport transport_of(Transport told, const std::string& backend, double rate_mbps) {
  if (told != Transport::Unknown) return told;
  return backend != "gloo" && rate_mbps > kFastestUsualTcpMbps ? Transport::Rdma : Transport::Tcp;
}

Wire wire_of(const WireQuestion& question, Outlook outlook) {
  const double rate_mbps = question.path.rate_mbps.value_or(0);
  const Transport transport = transport_of(question.transport, question.backend, rate_mbps);
  const bool is_tcp = transport == Transport::Tcp;
  Wire wire{.rtt_ms = question.path.rtt_ms.value_or((is_tcp ? kTcpRttMs : kRdmaRttMs).of(outlook)),
            .transport = transport};
  wire.alpha_ms = wire.rtt_ms / 2 + (is_tcp ? kTcpHopMs : kRdmaHopMs).of(outlook);
  if (!is_tcp) {
    wire.rate_mbps = rate_mbps * (question.is_measured ? 1 : kRdmaShare.of(outlook));
    wire.line_mbps = wire.rate_mbps;
    wire.limited_by = "link";
    return wire;
  }
  PathProfile path = question.path;
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

}  // namespace chokepoint::analysis
