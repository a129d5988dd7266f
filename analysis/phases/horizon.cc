#include "analysis/phases/horizon.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

// A collective is written when nothing of it came for a second.
constexpr std::int64_t kCollectivesLagNs = 1'500'000'000;

std::optional<std::int64_t> last_sample_ns(const NodeData& node) {
  std::optional<std::int64_t> last_ns;
  for (const FlowData& flow : node.flows) {
    for (const std::size_t way : {0U, 1U}) {
      if (!flow.sockets.at(way).empty()) {
        last_ns = std::max(last_ns.value_or(0), flow.sockets.at(way).back().t_ns);
      }
      if (!flow.packets.at(way).empty()) {
        last_ns = std::max(last_ns.value_or(0), flow.packets.at(way).back().t_ns);
      }
    }
  }
  return last_ns;
}

// Where there is traffic there may yet be collectives, but none that was over long before. Without
// any traffic, as of a job whose data go by RDMA, there is nothing to wait for.
std::optional<std::int64_t> known_until_ns(const NodeData& node) {
  std::optional<std::int64_t> known_ns;
  if (const auto last_ns = last_sample_ns(node)) {
    known_ns = *last_ns - kCollectivesLagNs;
  }
  for (const record::Collective& collective : node.collectives) {
    known_ns = std::max(known_ns.value_or(collective.end_ns), collective.end_ns);
  }
  return known_ns;
}

}  // namespace

std::int64_t known_until_ns(const RunData& run, const Clocks& clocks) {
  std::int64_t until_ns = INT64_MAX;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    const NodeData& node = run.nodes[place];
    const auto known_ns = node.is_complete ? std::nullopt : known_until_ns(node);
    if (known_ns) {
      until_ns = std::min(until_ns, clocks.common_ns(place, *known_ns));
    }
  }
  return until_ns;
}

}  // namespace chokepoint::analysis
