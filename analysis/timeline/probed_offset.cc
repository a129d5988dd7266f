#include "analysis/timeline/probed_offset.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace chokepoint::analysis {
namespace {

constexpr double kUnsteeredDrift = 50e-6;  // of clocks that nobody steers
constexpr double kUnknownError = 50e6;     // ns

bool is_called(const NodeData& node, std::string_view peer) {
  if (peer == node.name || peer == node.host) return true;
  return std::ranges::any_of(node.interfaces, [&](const Interface& interface) {
    return std::ranges::any_of(interface.addresses, [&](std::string_view address) {
      return address.substr(0, address.find('/')) == peer;
    });
  });
}

double error_of(const record::ClockOffset& row) {
  if (row.error_ns.known()) return static_cast<double>(row.error_ns.value());
  if (row.round_trip_ns.known()) return static_cast<double>(row.round_trip_ns.value()) / 2;
  return kUnknownError;
}

void take_best(const NodeData& from, const NodeData& of, int sign,
               std::optional<ProbedOffset>& best) {
  const std::int64_t middle_ns = from.span.start_ns + from.span.length_ns() / 2;
  for (const record::ClockOffset& row : from.clock_offsets) {
    if (!is_called(of, row.peer)) continue;
    const double since_ns = std::abs(static_cast<double>(row.t_ns - middle_ns));
    const double error_ns = error_of(row) + kUnsteeredDrift * since_ns;
    if (!best || error_ns < best->error_ns) best = {sign * row.offset_ns, error_ns};
  }
}

}  // namespace

std::optional<ProbedOffset> probed_offset(const NodeData& first, const NodeData& second) {
  std::optional<ProbedOffset> best;
  take_best(first, second, 1, best);
  take_best(second, first, -1, best);
  return best;
}

}  // namespace chokepoint::analysis
