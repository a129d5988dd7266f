#include "analysis/predict/gloo_ring.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::analysis {
namespace {

constexpr double kMostSegmentBytes = 1024 * 1024;

}  // namespace

GlooSegments gloo_segments(double tensor_bytes, double ranks) {
  const double needed = std::max(std::ceil(tensor_bytes / kMostSegmentBytes), 2 * ranks);
  const double count = std::ceil(needed / ranks) * ranks;  // as many for each rank
  return {.bytes = tensor_bytes / count, .count = count - count / ranks};
}

double gloo_ring_ms(double tensor_bytes, double ranks, double rtt_ms, double bytes_per_ms) {
  if (ranks <= 1) return 0;
  const GlooSegments segments = gloo_segments(tensor_bytes, ranks);
  const double serial_ms = segments.bytes / bytes_per_ms;
  double phase_ms = rtt_ms + segments.count * serial_ms;
  if (rtt_ms > serial_ms) {  // credits come too late to keep the link busy
    const double pairs = std::ceil(segments.count / 2);
    const bool is_last_pair_whole = std::fmod(segments.count, 2) == 0;
    phase_ms = pairs * (rtt_ms + serial_ms) + (is_last_pair_whole ? serial_ms : 0);
  }
  return 2 * phase_ms;
}

double gloo_credit_mbps(double tensor_bytes, double ranks, double rtt_ms) {
  return 2 * std::min(kMostSegmentBytes, tensor_bytes / (2 * ranks)) * 8 / rtt_ms / 1000;
}

}  // namespace chokepoint::analysis
