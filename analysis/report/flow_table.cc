#include "analysis/report/flow_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/flow_ways.h"
#include "analysis/report/known_span.h"
#include "analysis/report/path_pace.h"

namespace chokepoint::analysis {
namespace {

const FlowData* at(const RunData& run, const std::optional<FlowPlace>& place) {
  return place ? &run.nodes[place->node].flows[place->flow] : nullptr;
}

std::string process_of(const NodeData& node, const record::Flow& row) {
  const auto found = row.process.known() ? std::ranges::find(node.processes, row.process.value(),
                                                             &record::Process::id)
                                         : node.processes.end();
  return found == node.processes.end() ? "" : found->command;
}

FlowSide side_of(const RunData& run, const Connection& connection, std::size_t end) {
  const record::Flow& row = connection.row;
  FlowSide side{.name = connection.names.at(end),
                .address = end == 0 ? row.a_address : row.b_address,
                .port = optional_of(end == 0 ? row.a_port : row.b_port),
                .rank = connection.ranks.at(end)};
  const auto& place = connection.ends.at(end);
  if (const FlowData* flow = at(run, place)) {
    side.interface = flow->row.interface;
    // A row has the process of its end a where both are on the host.
    const bool is_within =
        end == 1 && connection.ends[0] && connection.ends[0]->node == place->node;
    side.process = is_within ? "" : process_of(run.nodes[place->node], flow->row);
  }
  return side;
}

// By the first end that knows the moment.
std::optional<double> moment_of(const RunData& run, const Clocks& clocks,
                                const Connection& connection, record::Figure record::Flow::* moment,
                                std::int64_t origin_ns) {
  for (const auto& place : connection.ends) {
    const FlowData* flow = at(run, place);
    if (flow != nullptr && (flow->row.*moment).known()) {
      const std::int64_t t_ns = clocks.common_ns(place->node, (flow->row.*moment).value());
      return static_cast<double>(t_ns - origin_ns) / 1e9;
    }
  }
  return std::nullopt;
}

// Where nobody saw it end, it lived while its record was written.
std::optional<double> life_s(const RunData& run, const Connection& connection) {
  for (const auto& place : connection.ends) {
    const FlowData* flow = at(run, place);
    if (flow != nullptr && flow->row.start_ns.known()) {
      const std::int64_t end_ns =
          flow->row.end_ns.value_or(known_span(run.nodes[place->node]).end_ns);
      return static_cast<double>(end_ns - flow->row.start_ns.value()) / 1e9;
    }
  }
  return std::nullopt;
}

std::vector<std::string> seen_by(const RunData& run, const Connection& connection) {
  std::vector<std::string> names;
  for (const auto& place : connection.ends) {
    if (place && std::ranges::find(names, run.nodes[place->node].name) == names.end()) {
      names.push_back(run.nodes[place->node].name);
    }
  }
  return names;
}

std::string source_of(const FlowLine& line, bool has_sockets, bool is_in_windows) {
  const char* sockets = !has_sockets    ? ""
                        : is_in_windows ? " and socket samples, read in windows,"
                                        : " and socket samples";
  return fmt::format("flow totals{} of {}", sockets, fmt::join(line.seen_by, " and "));
}

bool is_in_windows(const RunData& run, const Connection& connection) {
  return std::ranges::any_of(connection.ends, [&](const auto& place) {
    return place && !run.nodes[place->node].windows.empty();
  });
}

bool has_sockets(const RunData& run, const Connection& connection) {
  return std::ranges::any_of(connection.ends, [&](const auto& place) {
    const FlowData* flow = at(run, place);
    return flow != nullptr && (!flow->sockets[0].empty() || !flow->sockets[1].empty());
  });
}

class TableMaker {
 public:
  TableMaker(const RunData& run, const Clocks& clocks, const Blame* blame, std::int64_t origin_ns)
      : run_(run), clocks_(clocks), origin_ns_(origin_ns) {
    for (const Connection& connection : run.connections) {
      table_.flows.push_back(line_of(connection));
    }
    blames_.resize(run.connections.size());
    for (std::size_t each = 0; blame != nullptr && each < blame->directions.size(); ++each) {
      const DirectionBlame& direction = blame->directions[each];
      const auto way = static_cast<std::size_t>(direction.view.direction);
      blames_[direction.view.connection].at(way) = &direction;
    }
  }

  FlowTable make() {
    for (const DirectionView& view : directions_of(run_)) {
      add_way(view);
    }
    table_.left_out = count_of_flows() - count_of_places();
    return std::move(table_);
  }

 private:
  FlowLine line_of(const Connection& connection) const {
    FlowLine line{
        .protocol = connection.row.protocol,
        .sides = {side_of(run_, connection, 0), side_of(run_, connection, 1)},
        .start_s = moment_of(run_, clocks_, connection, &record::Flow::start_ns, origin_ns_),
        .end_s = moment_of(run_, clocks_, connection, &record::Flow::end_ns, origin_ns_),
        .seen_by = seen_by(run_, connection)};
    line.source = source_of(line, has_sockets(run_, connection), is_in_windows(run_, connection));
    return line;
  }

  void add_way(const DirectionView& view) {
    FlowLine& line = table_.flows[view.connection];
    const auto place = static_cast<std::size_t>(view.direction);
    const DirectionBlame* blame = blames_[view.connection].at(place);
    FlowWay& way = line.ways.at(place);
    way = flow_way(run_, view);
    const auto life = life_s(run_, run_.connections[view.connection]);
    if (way.payload_bytes && life.value_or(0) > 0) {
      way.throughput_mbps = static_cast<double>(*way.payload_bytes) * 8 / 1e6 / *life;
    }
    if (blame != nullptr && has_samples(view)) {
      way.limited_by = blame->busy;
    }
    const double rtt_us =
        blame != nullptr ? blame->facts.min_rtt_us : facts_of(run_, view).min_rtt_us;
    PathPace pace;
    pace.add(view, clocks_);
    way.busy_mbps = pace.pace(rtt_us / 1e3).mean_mbps;
    if (rtt_us > 0) {
      line.min_rtt_ms = std::min(line.min_rtt_ms.value_or(rtt_us / 1e3), rtt_us / 1e3);
    }
  }

  std::size_t count_of_flows() const {
    std::size_t count = 0;
    for (const NodeData& node : run_.nodes) {
      count += node.flows.size();
    }
    return count;
  }

  std::size_t count_of_places() const {
    std::size_t count = 0;
    for (const FlowLine& line : table_.flows) {
      count += line.seen_by.size();
    }
    return count;
  }

  const RunData& run_;
  const Clocks& clocks_;
  std::vector<std::array<const DirectionBlame*, 2>> blames_;  // by connection and way
  const std::int64_t origin_ns_;
  FlowTable table_;
};

}  // namespace

std::optional<double> FlowWay::retransmitted_percent() const {
  if (!retransmitted_packets || packets.value_or(0) <= 0) {
    return std::nullopt;
  }
  return 100 * static_cast<double>(*retransmitted_packets) / static_cast<double>(*packets);
}

std::optional<math::Distribution> FlowLine::rtt_ms() const {
  const bool is_second = ways[1].payload_bytes.value_or(0) > ways[0].payload_bytes.value_or(0);
  const FlowWay& most = ways.at(is_second ? 1 : 0);
  return most.rtt_ms ? most.rtt_ms : ways.at(is_second ? 0 : 1).rtt_ms;
}

FlowTable flow_table(const RunData& run, const Clocks& clocks, const Blame* blame,
                     std::int64_t origin_ns) {
  return TableMaker(run, clocks, blame, origin_ns).make();
}

}  // namespace chokepoint::analysis
