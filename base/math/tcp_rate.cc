#include "base/math/tcp_rate.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::math {
namespace {

constexpr double kCubicC = 0.4;
constexpr double kCubicBeta = 0.7;

double rate_mbps(double bytes, double ms) { return bytes * 8 / ms / 1000; }

}  // namespace

double window_mbps(double window_bytes, double rtt_ms) { return rate_mbps(window_bytes, rtt_ms); }

double mathis_mbps(double rtt_ms, double loss) {
  return rate_mbps(kSegmentBytes, rtt_ms) * std::sqrt(1.5 / loss);
}

double pftk_mbps(double rtt_ms, double loss, double timeout_ms, double acked) {
  const double recovery = rtt_ms * std::sqrt(2 * acked * loss / 3);
  const double timeouts = timeout_ms * std::min(1.0, 3 * std::sqrt(3 * acked * loss / 8)) * loss *
                          (1 + 32 * loss * loss);
  return rate_mbps(kSegmentBytes, recovery + timeouts);
}

double cubic_mbps(double rtt_ms, double loss) {
  const double factor = std::pow(kCubicC * (3 + kCubicBeta) / (4 * (1 - kCubicBeta)), 0.25);
  const double packets = factor * std::pow(rtt_ms / 1000 / loss, 0.75);
  return std::max(rate_mbps(packets * kSegmentBytes, rtt_ms), mathis_mbps(rtt_ms, loss));
}

}  // namespace chokepoint::math
