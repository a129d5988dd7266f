#include "analysis/load/connections.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/net/address.h"

namespace chokepoint::analysis {

namespace {

using record::Direction;

template <class Row>
void turn(std::array<std::vector<Row>, 2>& samples) {
  std::swap(samples[0], samples[1]);
  for (const Direction direction : {Direction::AToB, Direction::BToA}) {
    for (Row& row : samples.at(static_cast<std::size_t>(direction))) {
      row.direction = direction;
    }
  }
}

void turn(FlowData& flow) {
  std::swap(flow.row.a_address, flow.row.b_address);
  std::swap(flow.row.a_port, flow.row.b_port);
  if (flow.row.local_end.known()) {
    flow.row.local_end = 1 - flow.row.local_end.value();
  }
  std::swap(flow.totals[0], flow.totals[1]);
  flow.totals[0].direction = Direction::AToB;
  flow.totals[1].direction = Direction::BToA;
  turn(flow.packets);
  turn(flow.sockets);
  turn(flow.marks);
  flow.is_turned = !flow.is_turned;
}

// From totals, packets or the sockets' counters, whichever there are. The kernel counts the end
// of a stream as a byte.
bool has_carried_data(const FlowData& flow) {
  const auto is_some = [](record::Figure bytes) { return bytes.value_or(0) > 0; };
  const auto is_more = [](record::Figure bytes) { return bytes.value_or(0) > 1; };
  for (const std::size_t side : {0U, 1U}) {
    if (is_some(flow.totals.at(side).payload_bytes) ||
        std::ranges::any_of(flow.packets.at(side), is_some, &record::FlowSample::payload_bytes) ||
        std::ranges::any_of(flow.sockets.at(side), is_some, &record::SocketSample::bytes_sent) ||
        std::ranges::any_of(flow.sockets.at(side), is_more,
                            &record::SocketSample::bytes_received)) {
      return true;
    }
  }
  return false;
}

class Joiner {
 public:
  explicit Joiner(RunData& run) : run_(run) {
    for (std::size_t node = 0; node < run.nodes.size(); ++node) {
      for (const Interface& interface : run.nodes[node].interfaces) {
        for (const std::string& address : interface.addresses) {
          nodes_of_[plain_address(address)].insert(node);
        }
      }
    }
  }

  void join() {
    for (auto& [key, places] : places()) {
      join_one(places);
    }
    mark_exchanges();
    std::ranges::stable_sort(run_.connections, {}, [this](const Connection& connection) {
      const FlowPlace place = *(connection.ends[0] ? connection.ends[0] : connection.ends[1]);
      return std::pair(place.node, run_.nodes[place.node].flows[place.flow].row.id);
    });
  }

 private:
  using Places = std::vector<FlowPlace>;

  // Where none is known to carry collectives, what looks like a transfer may be what ranks
  // exchange.
  void mark_exchanges() {
    if (std::ranges::count(run_.connections, traffic::Purpose::Collectives, &Connection::purpose) ==
        0) {
      return;
    }
    for (Connection& connection : run_.connections) {
      connection.is_exchange = !traffic::is_beside_exchange(connection.purpose);
    }
  }

  // A port may be used again: then the first of one node is the first of the other.
  std::map<std::pair<FlowKey, std::size_t>, Places> places() const {
    std::map<std::pair<FlowKey, std::size_t>, Places> places;
    for (std::size_t node = 0; node < run_.nodes.size(); ++node) {
      std::map<FlowKey, std::size_t> uses;
      for (std::size_t flow = 0; flow < run_.nodes[node].flows.size(); ++flow) {
        const FlowKey key = key_of(run_.nodes[node].flows[flow].row);
        places[{key, uses[key]++}].push_back({node, flow});
      }
    }
    return places;
  }

  FlowData& at(FlowPlace place) { return run_.nodes[place.node].flows[place.flow]; }

  // Where the job's sockets were seen, what none of its processes has is not the job's; RoCE has no
  // socket.
  bool is_of_others(FlowPlace place) {
    if (at(place).row.protocol == "roce") {
      return false;
    }
    const auto has_process = [](const FlowData& flow) { return flow.row.process.known(); };
    return !has_process(at(place)) &&
           std::ranges::any_of(run_.nodes[place.node].flows, has_process);
  }

  // Hosts may have the same addresses, on loopback or behind their own NAT: those are not one
  // connection.
  void join_one(const Places& places) {
    const auto has_carried = [this](FlowPlace place) { return has_carried_data(at(place)); };
    const auto is_others = [this](FlowPlace place) { return is_of_others(place); };
    if (std::ranges::none_of(places, has_carried) || std::ranges::all_of(places, is_others)) {
      return;
    }
    const bool is_joint = places.size() == 2 && is_one_connection(places[0], places[1]);
    if (is_joint) {
      const FlowPlace second = places[1];
      if (end_a(at(second).row) != end_a(at(places[0]).row)) {
        turn(at(second));
      }
      add(places[0], second);
      return;
    }
    for (const FlowPlace place : places) {
      add(place, std::nullopt);
    }
  }

  bool is_one_connection(FlowPlace first, FlowPlace second) {
    if (is_within(first) || is_within(second)) {
      return false;
    }
    const bool is_turned = end_a(at(first).row) != end_a(at(second).row);
    const std::int64_t one = at(first).row.local_end.value_or(0);
    const std::int64_t other = at(second).row.local_end.value_or(is_turned ? 0 : 1);
    return (one == other) == is_turned;
  }

  bool has(std::size_t node, const std::string& address) const {
    const auto nodes = nodes_of_.find(plain_address(address));
    return nodes != nodes_of_.end() && nodes->second.contains(node);
  }

  // Between two ends on the same host.
  bool is_within(FlowPlace place) {
    const record::Flow& row = at(place).row;
    return !row.local_end.known() && has(place.node, row.a_address) &&
           has(place.node, row.b_address);
  }

  void add(FlowPlace first, std::optional<FlowPlace> second) {
    Connection connection{.purpose = run_.ranks.purpose_of(at(first).row), .row = at(first).row};
    if (is_within(first)) {
      connection.ends = {first, first};
    } else {
      const auto own = static_cast<std::size_t>(connection.row.local_end.value_or(0) == 1 ? 1 : 0);
      connection.ends.at(own) = first;
      connection.ends.at(1 - own) = second;
    }
    for (const std::size_t end : {0U, 1U}) {
      name(connection, end);
    }
    const bool is_chokepoints_own = connection.ends[0] && connection.ends[1] &&
                                    connection.ends[0]->node == connection.ends[1]->node &&
                                    connection.ranks[0] == connection.ranks[1] &&
                                    has_one_process(connection.ends[0]->node);
    if (!is_chokepoints_own) {
      run_.connections.push_back(std::move(connection));
    }
  }

  bool has_one_process(std::size_t node) const {
    return run_.nodes[node].rank().has_value() || run_.nodes[node].processes.size() < 2;
  }

  void name(Connection& connection, std::size_t end) {
    const std::string& address = end == 0 ? connection.row.a_address : connection.row.b_address;
    const std::optional<std::size_t> node = node_of(connection, end, address);
    connection.names.at(end) = node ? run_.nodes[*node].name : plain_address(address);
    if (!node) {
      return;
    }
    const bool is_within_node = connection.ends[0] && connection.ends[1] &&
                                connection.ends[0]->node == connection.ends[1]->node;
    // A row has the process of its end a where both are on the host.
    const bool has_process = connection.ends.at(end) && (end == 0 || !is_within_node);
    connection.ranks.at(end) =
        has_process ? rank_of(*connection.ends.at(end)) : run_.nodes[*node].rank();
  }

  // A host that has the address has this end, even if its record does not show it.
  std::optional<std::size_t> node_of(const Connection& connection, std::size_t end,
                                     const std::string& address) const {
    if (connection.ends.at(end)) {
      return connection.ends.at(end)->node;
    }
    const auto nodes = nodes_of_.find(plain_address(address));
    const bool is_one = nodes != nodes_of_.end() && nodes->second.size() == 1;
    return is_one ? std::optional(*nodes->second.begin()) : std::nullopt;
  }

  std::optional<std::int64_t> rank_of(FlowPlace place) {
    const NodeData& node = run_.nodes[place.node];
    const record::Figure process = at(place).row.process;
    const auto found =
        process.known() ? std::ranges::find(node.processes, process.value(), &record::Process::id)
                        : node.processes.end();
    const bool is_known = found != node.processes.end() && found->rank.known();
    return is_known ? std::optional(found->rank.value()) : node.rank();
  }

  RunData& run_;
  std::map<std::string, std::set<std::size_t>> nodes_of_;
};

}  // namespace

std::string plain_address(const std::string& text) {
  const std::string bare = text.substr(0, text.find_first_of("%/"));
  const Result<net::Address> address = net::Address::parse(bare);
  return address ? address->unmapped().text() : bare;
}

FlowEnd end_a(const record::Flow& row) {
  return {plain_address(row.a_address), row.a_port.value_or(-1)};
}

FlowEnd end_b(const record::Flow& row) {
  return {plain_address(row.b_address), row.b_port.value_or(-1)};
}

FlowKey key_of(const record::Flow& row) {
  FlowEnd first = end_a(row);
  FlowEnd second = end_b(row);
  if (second < first) {
    std::swap(first, second);
  }
  return {row.protocol, std::move(first), std::move(second)};
}

double payload_of(const RunData& run, const Connection& connection) {
  double most = 0;
  for (const std::optional<FlowPlace>& place : connection.ends) {
    double bytes = 0;
    for (std::size_t way = 0; place && way < 2; ++way) {
      const FlowData& flow = run.flow(*place);
      bytes += static_cast<double>(flow.totals.at(way).payload_bytes.value_or(0));
    }
    most = std::max(most, bytes);
  }
  return most;
}

void join_connections(RunData& run) {
  for (const NodeData& node : run.nodes) {
    std::ranges::for_each(node.flows, [&](const FlowData& flow) { run.ranks.add(flow.row); });
    std::ranges::for_each(node.facts, [&](const record::Fact& fact) { run.ranks.add(fact); });
  }
  Joiner(run).join();
}

}  // namespace chokepoint::analysis
