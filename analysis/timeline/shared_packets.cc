#include "analysis/timeline/shared_packets.h"

#include <algorithm>
#include <optional>

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMost = 200'000;  // sightings, of all nodes together

constexpr std::uint64_t kOfCollective = std::uint64_t{1} << 63U;

bool joins_two_nodes(const Connection& connection) {
  return connection.ends[0] && connection.ends[1] &&
         connection.ends[0]->node != connection.ends[1]->node;
}

const FlowData& flow_at(const RunData& run, const FlowPlace& place) {
  return run.nodes[place.node].flows[place.flow];
}

std::size_t count_marks(const RunData& run) {
  std::size_t count = 0;
  for (const Connection& connection : run.connections) {
    if (!joins_two_nodes(connection)) continue;
    for (const auto& end : connection.ends) {
      for (const auto& marks : flow_at(run, *end).marks) count += marks.size();
    }
  }
  return count;
}

std::uint64_t mixed(std::int64_t number) {
  std::uint64_t bits = static_cast<std::uint64_t>(number) * 0xff51afd7ed558ccdU;
  bits ^= bits >> 33U;
  return bits * 0xc4ceb9fe1a85ec53U;
}

// Of all numbers the same share at each end, whatever strides they come in, and by
// whatever rule they were chosen to be marked.
class Sieve {
 public:
  explicit Sieve(std::size_t count) {
    while ((count >> bits_) > kMost) ++bits_;
  }
  bool keeps(std::int64_t number) const {
    return bits_ == 0 || mixed(number) >> (64U - bits_) == 0;
  }

 private:
  unsigned bits_ = 0;
};

void add_marks(const std::vector<record::FlowMark>& marks, std::uint64_t connection,
               const Sieve& sieve, std::vector<Sighting>& to) {
  for (const record::FlowMark& mark : marks) {
    if (!sieve.keeps(mark.sequence)) continue;
    to.push_back({connection << 32U | static_cast<std::uint32_t>(mark.sequence), mark.t_ns});
  }
}

// Where connections of a node lead to, by the id that they have in its record.
using Neighbours = std::map<std::int64_t, std::size_t>;

std::vector<Neighbours> neighbours_of(const RunData& run) {
  std::vector<Neighbours> result(run.nodes.size());
  for (const Connection& connection : run.connections) {
    if (!joins_two_nodes(connection)) continue;
    for (const std::size_t end : {0U, 1U}) {
      const FlowPlace& here = *connection.ends[end];
      result[here.node][flow_at(run, here).row.id] = connection.ends[1 - end]->node;
    }
  }
  return result;
}

// A message between two ranks is a sending at the one and a receiving at the other.
record::CollectiveKind kind_at_both(record::CollectiveKind kind) {
  return kind == record::CollectiveKind::Receive ? record::CollectiveKind::Send : kind;
}

std::uint64_t key_of(const record::Collective& row) {
  return kOfCollective | static_cast<std::uint64_t>(row.communicator.value_or(0)) << 40U |
         static_cast<std::uint64_t>(kind_at_both(row.kind)) << 32U |
         static_cast<std::uint32_t>(row.number);
}

std::size_t count_collectives(const RunData& run) {
  std::size_t count = 0;
  for (const NodeData& node : run.nodes) count += node.collectives.size();
  return count * run.nodes.size();
}

bool is_usable(const record::Collective& row, const Sieve& sieve) {
  return sieve.keeps(row.number) && row.merged == 1 &&
         row.source == record::CollectiveSource::Gloo && row.own_ready_ns.known();
}

std::optional<std::size_t> last_neighbour(const record::Collective& row,
                                          const Neighbours& neighbours) {
  const auto found = row.flow.known() ? neighbours.find(row.flow.value()) : neighbours.end();
  if (found == neighbours.end() || !row.peer_ready_ns.known()) return {};
  return found->second;
}

}  // namespace

std::map<NodePair, SharedPackets> shared_marks(const RunData& run) {
  std::map<NodePair, SharedPackets> result;
  const Sieve sieve(count_marks(run));
  for (std::size_t number = 0; number < run.connections.size(); ++number) {
    const Connection& connection = run.connections[number];
    if (!joins_two_nodes(connection)) continue;
    const auto [first, second] = std::minmax(connection.ends[0]->node, connection.ends[1]->node);
    SharedPackets& shared = result[{first, second}];
    for (const std::size_t end : {0U, 1U}) {
      const FlowPlace& here = *connection.ends[end];
      const FlowData& flow = flow_at(run, here);
      Passage& sends = here.node == first ? shared.there : shared.back;
      Passage& receives = here.node == first ? shared.back : shared.there;
      add_marks(flow.marks[end], number, sieve, sends.sent);
      add_marks(flow.marks[1 - end], number, sieve, receives.received);
    }
  }
  return result;
}

std::map<NodePair, SharedPackets> shared_collectives(const RunData& run) {
  std::map<NodePair, SharedPackets> result;
  const std::vector<Neighbours> neighbours = neighbours_of(run);
  const Sieve sieve(count_collectives(run));
  for (std::size_t here = 0; here < run.nodes.size(); ++here) {
    for (const record::Collective& row : run.nodes[here].collectives) {
      if (!is_usable(row, sieve)) continue;
      const std::optional<std::size_t> last = last_neighbour(row, neighbours[here]);
      if (!last) continue;
      const auto [first, second] = std::minmax(here, *last);
      SharedPackets& shared = result[{first, second}];
      Passage& receives = here == first ? shared.back : shared.there;
      receives.received.push_back({key_of(row), row.peer_ready_ns.value()});
    }
  }
  // What a rank sent may have been the last that any of its neighbours waited for.
  for (auto& [pair, shared] : result) {
    for (const record::Collective& row : run.nodes[pair.first].collectives) {
      if (is_usable(row, sieve))
        shared.there.sent.push_back({key_of(row), row.own_ready_ns.value()});
    }
    for (const record::Collective& row : run.nodes[pair.second].collectives) {
      if (is_usable(row, sieve))
        shared.back.sent.push_back({key_of(row), row.own_ready_ns.value()});
    }
  }
  return result;
}

SharedPackets joined(SharedPackets one, const SharedPackets& other) {
  const auto append = [](std::vector<Sighting>& to, const std::vector<Sighting>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(one.there.sent, other.there.sent);
  append(one.there.received, other.there.received);
  append(one.back.sent, other.back.sent);
  append(one.back.received, other.back.received);
  return one;
}

}  // namespace chokepoint::analysis
