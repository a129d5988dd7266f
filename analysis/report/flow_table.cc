#include "analysis/report/flow_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>

#include <nlohmann/json.hpp>

#include "analysis/limits/path_pace.h"
#include "analysis/report/timeline.h"
#include "base/json/codec.h"

namespace chokepoint::analysis {
namespace {

using record::Figure;
using record::FlowTotal;

std::optional<std::int64_t> optional_of(Figure figure) {
  return figure.known() ? std::optional(figure.value()) : std::nullopt;
}

// The record's own totals have bytes on the wire; totals summed from samples do not.
bool is_from_record(const FlowTotal& total) { return total.bytes.known(); }

// One direction's totals at both ends.
class Totals {
 public:
  Totals(const RunData& run, const DirectionView& view)
      : at_sender_(total_of(run, view.sender, view.at_sender, side_of(view))),
        at_receiver_(total_of(run, view.receiver, view.at_receiver, side_of(view))) {}

  std::optional<std::int64_t> sent(Figure FlowTotal::* figure) const {
    return of(at_sender_, figure).or_else([&] { return of(at_receiver_, figure); });
  }
  std::optional<std::int64_t> arrived(Figure FlowTotal::* figure) const {
    return of(at_receiver_, figure).or_else([&] { return of(at_sender_, figure); });
  }
  const FlowTotal* at_sender() const { return at_sender_; }

 private:
  // Null for a sum of samples that were read in windows only: it is not the total.
  static const FlowTotal* total_of(const RunData& run, std::optional<std::size_t> node,
                                   const FlowData* flow, std::size_t side) {
    if (flow == nullptr || !node) {
      return nullptr;
    }
    const FlowTotal& total = flow->totals.at(side);
    const bool is_part = !is_from_record(total) && !flow->packets.at(side).empty() &&
                         !run.nodes[*node].windows.empty();
    return is_part ? nullptr : &total;
  }

  static std::optional<std::int64_t> of(const FlowTotal* total, Figure FlowTotal::* figure) {
    return total == nullptr ? std::nullopt : optional_of(total->*figure);
  }

  const FlowTotal* at_sender_;
  const FlowTotal* at_receiver_;
};

std::optional<double> number(const json::Json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_number() ? std::optional(value->get<double>())
                                                     : std::nullopt;
}

std::optional<math::Distribution> distribution_in(const std::string& text) {
  const json::Json object = json::object_or_null(text);
  if (!object.is_object()) {
    return std::nullopt;
  }
  const auto count = number(object, "count");
  const auto median = number(object, "median");
  if (!median || count.value_or(0) < 1) {
    return std::nullopt;
  }
  return math::Distribution{.min = number(object, "min").value_or(*median),
                            .median = *median,
                            .p99 = number(object, "p99").value_or(*median),
                            .max = number(object, "max").value_or(*median),
                            .mean = number(object, "mean").value_or(*median),
                            .count = static_cast<std::uint64_t>(std::min(*count, 1e18))};
}

const std::vector<record::SocketSample>* sockets_of(const DirectionView& view) {
  return view.at_sender == nullptr ? nullptr : &view.at_sender->sockets.at(side_of(view));
}

std::optional<std::int64_t> most_cwnd_bytes(const DirectionView& view,
                                            std::optional<std::int64_t> usual_mss) {
  std::optional<std::int64_t> most;
  if (const auto* sockets = sockets_of(view)) {
    for (const record::SocketSample& sample : *sockets) {
      if (const auto bytes = cwnd_bytes(sample, usual_mss)) {
        most = std::max(most.value_or(0), *bytes);
      }
    }
  }
  return most;
}

// The kernel's count is complete, also where samples were read in windows.
std::optional<std::int64_t> payload_of_sockets(const DirectionView& view) {
  const auto* sockets = sockets_of(view);
  return sockets == nullptr || sockets->empty() ? std::nullopt
                                                : optional_of(sockets->back().bytes_sent);
}

// The kernel counts it since the connection began.
std::optional<double> busy_of_sockets(const DirectionView& view) {
  std::optional<double> busy;
  if (const auto* sockets = sockets_of(view)) {
    for (const record::SocketSample& sample : *sockets) {
      if (sample.busy_us.known()) {
        busy = std::max(busy.value_or(0), static_cast<double>(sample.busy_us.value()) / 1e6);
      }
    }
  }
  return busy;
}

// The bins in which payload passed, where all of them were read.
std::optional<double> busy_of_packets(const RunData& run, const DirectionView& view) {
  const auto& packets = view.best().packets.at(side_of(view));
  if (packets.empty() || !run.nodes[view.best_node()].windows.empty()) {
    return std::nullopt;
  }
  double busy_ns = 0;
  for (const record::FlowSample& sample : packets) {
    busy_ns += sample.payload_bytes.value_or(0) > 0 ? static_cast<double>(sample.bin_ns) : 0;
  }
  return busy_ns / 1e9;
}

bool has_samples(const DirectionView& view) {
  const auto* sockets = sockets_of(view);
  return (sockets != nullptr && sockets->size() > 1) ||
         !view.best().packets.at(side_of(view)).empty();
}

// All but the figures that need the connection's life or what limited it.
FlowDirection flow_direction(const RunData& run, const DirectionView& view) {
  const Totals totals(run, view);
  FlowDirection direction{
      .bytes = totals.sent(&FlowTotal::bytes),
      .payload_bytes = totals.sent(&FlowTotal::payload_bytes),
      .packets = totals.sent(&FlowTotal::packets),
      .retransmitted_packets = totals.sent(&FlowTotal::retransmitted_packets),
      .fast_retransmissions = totals.sent(&FlowTotal::fast_retransmissions),
      .timeout_retransmissions = totals.sent(&FlowTotal::timeout_retransmissions),
      .out_of_order = totals.arrived(&FlowTotal::out_of_order),
      .duplicate_acks = totals.sent(&FlowTotal::duplicate_acks),
      .zero_windows = totals.sent(&FlowTotal::zero_windows),
      .window_full = totals.sent(&FlowTotal::window_full),
      .max_in_flight_bytes = totals.sent(&FlowTotal::max_in_flight_bytes),
      .max_window_bytes = totals.sent(&FlowTotal::max_window_bytes)};
  if (!direction.payload_bytes) {
    direction.payload_bytes = payload_of_sockets(view);
  }
  direction.max_cwnd_bytes = most_cwnd_bytes(view, totals.sent(&FlowTotal::mss_bytes));
  direction.busy_s = busy_of_sockets(view).or_else([&] { return busy_of_packets(run, view); });
  if (totals.at_sender() != nullptr) {
    direction.rtt_ms = distribution_in(totals.at_sender()->rtt_ms);
  }
  return direction;
}

const FlowData* at(const RunData& run, const std::optional<FlowPlace>& place) {
  return place ? &run.flow(*place) : nullptr;
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
    // Where both ends are on one host, the row has the process of end a.
    const bool is_within =
        end == 1 && connection.ends[0] && connection.ends[0]->node == place->node;
    side.process = is_within ? "" : process_of(run.nodes[place->node], flow->row);
  }
  return side;
}

// By the first end that knows it.
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

// A connection whose end was not seen lasts to the end of the record.
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
  TableMaker(const RunData& run, const Clocks& clocks, const LimitTimeline* limit_timeline,
             std::int64_t origin_ns)
      : run_(run), clocks_(clocks), origin_ns_(origin_ns) {
    for (const Connection& connection : run.connections) {
      table_.flows.push_back(line_of(connection));
    }
    limits_.resize(run.connections.size());
    for (std::size_t each = 0;
         limit_timeline != nullptr && each < limit_timeline->directions.size(); ++each) {
      const DirectionLimits& limits = limit_timeline->directions[each];
      limits_[limits.view.connection].at(static_cast<std::size_t>(limits.view.direction)) = &limits;
    }
  }

  FlowTable make() {
    for (const DirectionView& view : directions_of(run_)) {
      add_direction(view);
    }
    for (const NodeData& node : run_.nodes) {
      table_.left_out += node.flows.size();
    }
    for (const FlowLine& line : table_.flows) {
      table_.left_out -= line.seen_by.size();
    }
    return std::move(table_);
  }

 private:
  FlowLine line_of(const Connection& connection) const {
    FlowLine line{
        .id = table_.flows.size(),
        .protocol = connection.row.protocol,
        .sides = {side_of(run_, connection, 0), side_of(run_, connection, 1)},
        .start_s = moment_of(run_, clocks_, connection, &record::Flow::start_ns, origin_ns_),
        .end_s = moment_of(run_, clocks_, connection, &record::Flow::end_ns, origin_ns_),
        .seen_by = seen_by(run_, connection)};
    line.source = source_of(line, has_sockets(run_, connection), is_in_windows(run_, connection));
    return line;
  }

  void add_direction(const DirectionView& view) {
    FlowLine& line = table_.flows[view.connection];
    const auto place = static_cast<std::size_t>(view.direction);
    const DirectionLimits* limit_timeline = limits_[view.connection].at(place);
    FlowDirection& direction = line.directions.at(place);
    direction = flow_direction(run_, view);
    const auto life = life_s(run_, run_.connections[view.connection]);
    if (direction.payload_bytes && life.value_or(0) > 0) {
      direction.throughput_mbps = static_cast<double>(*direction.payload_bytes) * 8 / 1e6 / *life;
    }
    if (limit_timeline != nullptr && has_samples(view)) {
      direction.limited_by = limit_timeline->busy;
    }
    const double rtt_us = limit_timeline != nullptr ? limit_timeline->facts.min_rtt_us
                                                    : facts_of(run_, view).min_rtt_us;
    PathPace pace;
    pace.add(view, clocks_);
    direction.busy_mbps = pace.pace(rtt_us / 1e3).mean_mbps;
    if (rtt_us > 0) {
      line.min_rtt_ms = std::min(line.min_rtt_ms.value_or(rtt_us / 1e3), rtt_us / 1e3);
    }
  }

  const RunData& run_;
  const Clocks& clocks_;
  std::vector<std::array<const DirectionLimits*, 2>> limits_;  // by connection and direction
  const std::int64_t origin_ns_;
  FlowTable table_;
};

// Bounds the square table of a job that reads a data set from a thousand addresses.
constexpr std::size_t kMaxPeers = 40;

struct Peer {
  std::string name = {};
  double bytes = 0;
};

// Peers without a record, by their payload, the largest first.
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
      for (const FlowDirection& direction : line.directions) {
        peers[place->second].bytes += static_cast<double>(direction.payload_bytes.value_or(0));
      }
    }
  }
  std::ranges::stable_sort(peers, std::greater<>(), &Peer::bytes);
  return peers;
}

template <class T>
Square<T> square(std::size_t size) {
  return Square<T>(size, typename Square<T>::value_type(size));
}

}  // namespace

std::optional<std::int64_t> cwnd_bytes(const record::SocketSample& sample,
                                       std::optional<std::int64_t> usual_mss) {
  constexpr std::int64_t kMax = std::int64_t{1}
                                << 31;  // of packets and of bytes; more is a broken row
  const std::int64_t packets = sample.cwnd_packets.value_or(-1);
  const std::int64_t mss = sample.mss_bytes.value_or(usual_mss.value_or(0));
  const bool is_known = packets >= 0 && packets <= kMax && mss > 0 && mss <= kMax;
  return is_known ? std::optional(packets * mss) : std::nullopt;
}

std::optional<double> FlowDirection::retransmitted_percent() const {
  if (!retransmitted_packets || packets.value_or(0) <= 0) {
    return std::nullopt;
  }
  return 100 * static_cast<double>(*retransmitted_packets) / static_cast<double>(*packets);
}

std::optional<math::Distribution> FlowLine::rtt_ms() const {
  const bool is_second =
      directions[1].payload_bytes.value_or(0) > directions[0].payload_bytes.value_or(0);
  const FlowDirection& most = directions.at(is_second ? 1 : 0);
  return most.rtt_ms ? most.rtt_ms : directions.at(is_second ? 0 : 1).rtt_ms;
}

FlowTable flow_table(const RunData& run, const Clocks& clocks, const LimitTimeline* limit_timeline,
                     std::int64_t origin_ns) {
  return TableMaker(run, clocks, limit_timeline, origin_ns).make();
}

TrafficMatrix traffic_matrix(const RunData& run, const FlowTable& table,
                             std::optional<double> run_s) {
  const std::vector<Peer> peers = peers_of(run, table);
  const std::size_t named = std::min(peers.size(), kMaxPeers);
  TrafficMatrix matrix{.source = "payload by the flow totals of all nodes"};
  std::map<std::string, std::size_t> places;
  const auto add = [&](const std::string& name) {
    if (places.try_emplace(name, matrix.names.size()).second) {
      matrix.names.push_back(name);
    }
  };
  std::ranges::for_each(run.nodes, add, &NodeData::name);
  std::ranges::for_each(peers | std::views::take(named), add, &Peer::name);
  if (named < peers.size()) {
    matrix.names.push_back(fmt::format("{} others", peers.size() - named));
    matrix.source += fmt::format(
        "; of {} peers without a record the {} that carried most are named", peers.size(), named);
  }
  const auto place_of = [&](const FlowSide& side) {
    const auto place = places.find(side.name);
    return place == places.end() ? matrix.names.size() - 1 : place->second;  // others: the last
  };
  matrix.bytes = square<std::int64_t>(matrix.names.size());
  matrix.throughput_mbps = square<double>(matrix.names.size());
  for (const FlowLine& line : table.flows) {
    for (const std::size_t from : {0U, 1U}) {
      const auto& payload = line.directions.at(from).payload_bytes;
      if (!payload) {
        continue;
      }
      const std::size_t row = place_of(line.sides.at(from));
      const std::size_t column = place_of(line.sides.at(1 - from));
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
