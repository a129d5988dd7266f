#include "analysis/load/rough_clocks.h"

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/load/flow_key.h"

namespace chokepoint::analysis {
namespace {

using Starts = std::map<FlowKey, std::int64_t>;

Starts starts_of(const NodeData& node) {
  Starts starts;
  for (const FlowData& flow : node.flows) {
    if (flow.row.start_ns.known()) {
      starts.emplace(key_of(flow.row), flow.row.start_ns.value());
    }
  }
  return starts;
}

// A connection begins at the same time for both its ends.
std::optional<std::int64_t> by_connections(const Starts& node, const Starts& base) {
  std::vector<std::int64_t> differences;
  for (const auto& [key, start] : node) {
    if (const auto same = base.find(key); same != base.end()) {
      differences.push_back(start - same->second);
    }
  }
  if (differences.empty()) {
    return std::nullopt;
  }
  const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::ranges::nth_element(differences, middle);
  return *middle;
}

std::int64_t by_wall_clocks(const NodeData& node, const NodeData& base) {
  return (node.span.start_ns - node.wall_start_ns) - (base.span.start_ns - base.wall_start_ns);
}

class Offsets {
 public:
  explicit Offsets(const std::vector<NodeData>& nodes) : nodes_(nodes), offsets_(nodes.size()) {
    for (const NodeData& node : nodes) {
      starts_.push_back(starts_of(node));
    }
  }

  std::vector<std::int64_t> find() {
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      if (!offsets_[node]) {
        offsets_[node] = by_wall_clocks(nodes_[node], nodes_[0]);
        while (spread()) {
        }
      }
    }
    std::vector<std::int64_t> found;
    for (const std::optional<std::int64_t>& offset : offsets_) {
      found.push_back(offset.value_or(0));
    }
    return found;
  }

 private:
  // From the nodes that are known to those that have talked with them; false where there is none.
  bool spread() {
    bool is_more = false;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      for (std::size_t base = 0; !offsets_[node] && base < nodes_.size(); ++base) {
        const auto apart = offsets_[base] ? between(node, base) : std::nullopt;
        if (apart) {
          offsets_[node] = *offsets_[base] + *apart;
          is_more = true;
        }
      }
    }
    return is_more;
  }

  std::optional<std::int64_t> between(std::size_t node, std::size_t base) const {
    const std::string& boot = nodes_[node].boot_id;
    const bool is_one_clock = !boot.empty() && boot == nodes_[base].boot_id;
    return is_one_clock ? std::optional<std::int64_t>(0)
                        : by_connections(starts_[node], starts_[base]);
  }

  const std::vector<NodeData>& nodes_;
  std::vector<Starts> starts_;
  std::vector<std::optional<std::int64_t>> offsets_;
};

}  // namespace

std::vector<std::int64_t> rough_offsets(const std::vector<NodeData>& nodes) {
  return Offsets(nodes).find();
}

}  // namespace chokepoint::analysis
