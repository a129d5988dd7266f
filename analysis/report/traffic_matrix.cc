#include "analysis/report/traffic_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>

namespace chokepoint::analysis {
namespace {

// The table is a square: who reads a data set from a thousand addresses must not make it a million
// cells.
constexpr std::size_t kMostPeers = 40;

struct Peer {
  std::string name = {};
  double bytes = 0;
};

// Those without a record, the one that carried most first.
std::vector<Peer> peers_of(const RunData& run, const FlowTable& table) {
  std::vector<Peer> peers;
  std::map<std::string, std::size_t> places;
  for (const FlowLine& line : table.flows) {
    for (const FlowSide& side : line.sides) {
      if (std::ranges::find(run.nodes, side.name, &NodeData::name) != run.nodes.end()) {
        continue;
      }
      const auto [place, is_new] = places.try_emplace(side.name, peers.size());
      if (is_new) {
        peers.push_back({.name = side.name});
      }
      for (const FlowWay& way : line.ways) {
        peers[place->second].bytes += static_cast<double>(way.payload_bytes.value_or(0));
      }
    }
  }
  std::ranges::stable_sort(peers, std::greater<>(), &Peer::bytes);
  return peers;
}

// Which row and column somebody has.
class Places {
 public:
  Places(const RunData& run, const FlowTable& table) {
    std::ranges::for_each(run.nodes, [this](const NodeData& node) { add(node.name); });
    const std::vector<Peer> peers = peers_of(run, table);
    peers_ = peers.size();
    named_ = std::min(peers_, kMostPeers);
    std::ranges::for_each(peers | std::views::take(named_),
                          [this](const Peer& peer) { add(peer.name); });
    if (named_ < peers_) {
      names_.push_back(fmt::format("{} others", peers_ - named_));
    }
  }

  // Those that are not named are the last.
  std::size_t of(const std::string& name) const {
    const auto place = places_.find(name);
    return place == places_.end() ? names_.size() - 1 : place->second;
  }
  const std::vector<std::string>& names() const { return names_; }
  std::string source() const {
    return named_ == peers_ ? "payload by the flow totals of all nodes"
                            : fmt::format(
                                  "payload by the flow totals of all nodes; of {} peers "
                                  "without a record the {} that carried most are named",
                                  peers_, named_);
  }

 private:
  void add(const std::string& name) {
    if (places_.try_emplace(name, names_.size()).second) {
      names_.push_back(name);
    }
  }

  std::vector<std::string> names_;
  std::map<std::string, std::size_t> places_;
  std::size_t named_ = 0;
  std::size_t peers_ = 0;
};

template <class T>
Square<T> square(std::size_t size) {
  return Square<T>(size, typename Square<T>::value_type(size));
}

}  // namespace

TrafficMatrix traffic_matrix(const RunData& run, const FlowTable& table,
                             std::optional<double> run_s) {
  const Places places(run, table);
  TrafficMatrix matrix{.names = places.names(), .source = places.source()};
  matrix.bytes = square<std::int64_t>(matrix.names.size());
  matrix.throughput_mbps = square<double>(matrix.names.size());
  for (const FlowLine& line : table.flows) {
    for (const std::size_t from : {0U, 1U}) {
      const auto& payload = line.ways.at(from).payload_bytes;
      if (!payload) {
        continue;
      }
      const std::size_t row = places.of(line.sides.at(from).name);
      const std::size_t column = places.of(line.sides.at(1 - from).name);
      auto& bytes = matrix.bytes[row][column];
      bytes = bytes.value_or(0) + *payload;
      if (run_s.value_or(0) > 0) {
        matrix.throughput_mbps[row][column] = static_cast<double>(*bytes) * 8 / 1e6 / *run_s;
      }
    }
  }
  return matrix;
}

}  // namespace chokepoint::analysis
