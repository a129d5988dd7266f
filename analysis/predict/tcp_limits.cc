#include "analysis/predict/tcp_limits.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::analysis {
namespace {

constexpr double kCubicC = 0.4;
constexpr double kCubicBeta = 0.7;
// Linux waits at least this long beyond the round trip before it sends again on its own.
constexpr double kLeastTimeoutMs = 200;

double mbps(double bytes, double ms) { return bytes * 8 / ms / 1000; }

double loss_mbps(double rtt_ms, double loss, Congestion congestion) {
  switch (congestion) {
    case Congestion::Reno:
      return pftk_mbps(rtt_ms, loss, kLeastTimeoutMs + rtt_ms);
    case Congestion::Cubic:
      return cubic_mbps(rtt_ms, loss);
    case Congestion::Bbr:  // measures what arrives, and takes loss for noise
      return INFINITY;
  }
  return INFINITY;
}

void take(std::optional<TcpLimit>& least, double rate_mbps, const char* what) {
  if (!least || rate_mbps < least->rate_mbps) {
    least = TcpLimit{.rate_mbps = rate_mbps, .what = what};
  }
}

}  // namespace

double window_mbps(double window_bytes, double rtt_ms) { return mbps(window_bytes, rtt_ms); }

double mathis_mbps(double rtt_ms, double loss) {
  return mbps(kSegmentBytes, rtt_ms) * std::sqrt(1.5 / loss);
}

double pftk_mbps(double rtt_ms, double loss, double timeout_ms, double acked) {
  const double recovery = rtt_ms * std::sqrt(2 * acked * loss / 3);
  const double timeouts = timeout_ms * std::min(1.0, 3 * std::sqrt(3 * acked * loss / 8)) * loss *
                          (1 + 32 * loss * loss);
  return mbps(kSegmentBytes, recovery + timeouts);
}

double cubic_mbps(double rtt_ms, double loss) {
  const double factor = std::pow(kCubicC * (3 + kCubicBeta) / (4 * (1 - kCubicBeta)), 0.25);
  const double packets = factor * std::pow(rtt_ms / 1000 / loss, 0.75);
  return std::max(mbps(packets * kSegmentBytes, rtt_ms), mathis_mbps(rtt_ms, loss));
}

std::optional<TcpLimit> tcp_limit(const PathProfile& path, Congestion congestion) {
  std::optional<TcpLimit> least;
  const double delivered = 1 - path.loss.value_or(0);
  if (path.rate_mbps) {
    take(least, *path.rate_mbps * kSegmentBytes / kFrameBytes * delivered, "link");
  }
  if (const double rtt_ms = path.rtt_ms.value_or(0); rtt_ms > 0) {
    if (path.window_bytes) {
      take(least, window_mbps(*path.window_bytes, rtt_ms), "window");
    }
    if (path.loss.value_or(0) > 0) {
      take(least, loss_mbps(rtt_ms, *path.loss, congestion), "loss");
    }
  }
  return least;
}

}  // namespace chokepoint::analysis
