#include "tests/analysis/made_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace chokepoint::analysis {
namespace {

using record::Direction;

constexpr std::int64_t kStartNs = 1'000'000'000'000;
constexpr double kMsNs = 1e6;
constexpr std::int64_t kReadingNs = 20'000'000;
constexpr std::int64_t kBinNs = 10'000'000;
constexpr double kPacketBytes = 1448;

std::int64_t rounded(double value) { return std::llround(value); }

// Mb/s over nanoseconds.
double bytes_of(double mbps, double ns) { return mbps * ns / 8e3; }

}  // namespace

Span MadeRun::span() const {
  return {kStartNs, kStartNs + rounded(steps_.step_ms * kMsNs) * steps_.steps};
}

NodeData& MadeRun::host(const std::string& name, const MadeHost& host) {
  NodeData node;
  node.name = name;
  node.host = name;
  node.boot_id = "one-clock";
  node.command = "train";
  node.exit_status = 0;
  node.is_complete = true;
  node.span = span();
  const auto number = static_cast<std::int64_t>(data.nodes.size());
  const std::string address =
      host.address.empty() ? fmt::format("10.0.0.{}/24", number + 1) : host.address;
  node.interfaces.push_back({.name = host.interface,
                             .kind = "physical",
                             .is_up = true,
                             .speed_mbps = host.speed_mbps,
                             .addresses = {address}});
  node.processes.push_back({.pid = 1000 + number, .command = "train", .rank = number});
  const std::int64_t length_ns = rounded(steps_.step_ms * kMsNs);
  for (std::int64_t step = 0; step < steps_.steps; ++step) {
    node.steps.push_back({.start_ns = kStartNs + step * length_ns,
                          .end_ns = kStartNs + (step + 1) * length_ns,
                          .number = step,
                          .rank = number});
  }
  return data.nodes.emplace_back(std::move(node));
}

NodeData& MadeRun::node(const std::string& name) {
  return *std::ranges::find(data.nodes, name, &NodeData::name);
}

std::size_t MadeRun::connect(const std::string& a, const std::string& b) {
  Connection connection{.names = {a, b}};
  for (const std::size_t end : {0U, 1U}) {
    NodeData& own = node(connection.names.at(end));
    const std::string& address = own.interfaces.front().addresses.front();
    (end == 0 ? connection.row.a_address : connection.row.b_address) =
        address.substr(0, address.find('/'));
  }
  for (const std::size_t end : {0U, 1U}) {
    NodeData& own = node(connection.names.at(end));
    FlowData flow{.row = connection.row};
    flow.row.id = static_cast<std::int64_t>(own.flows.size()) + 1;
    flow.row.interface = own.interfaces.front().name;
    connection.ends.at(end) =
        FlowPlace{static_cast<std::size_t>(&own - data.nodes.data()), own.flows.size()};
    own.flows.push_back(std::move(flow));
  }
  data.connections.push_back(std::move(connection));
  return data.connections.size() - 1;
}

double MadeRun::busy_until_ns(std::int64_t t_ns, double busy_ms) const {
  const double step_ns = steps_.step_ms * kMsNs;
  const auto since_ns = static_cast<double>(t_ns - kStartNs);
  const double whole = std::floor(since_ns / step_ns);
  const double idle_ns = step_ns - busy_ms * kMsNs;
  return whole * busy_ms * kMsNs + std::max(0.0, since_ns - whole * step_ns - idle_ns);
}

void MadeRun::add_socket_samples(FlowData& flow, Direction direction,
                                 const MadeTraffic& traffic) const {
  double before_ns = 0;
  for (std::int64_t t_ns = kStartNs; t_ns <= span().end_ns; t_ns += kReadingNs) {
    const double busy_ns = busy_until_ns(t_ns, traffic.busy_ms);
    record::SocketSample sample =
        busy_ns > before_ns ? traffic.like
                            : record::SocketSample{.mss_bytes = traffic.like.mss_bytes,
                                                   .cwnd_packets = traffic.like.cwnd_packets};
    before_ns = busy_ns;
    sample.t_ns = t_ns;
    sample.direction = direction;
    sample.rtt_us = traffic.rtt_us;
    sample.min_rtt_us = traffic.min_rtt_us;
    sample.busy_us = rounded(busy_ns / 1e3);
    sample.receive_window_limited_us = rounded(traffic.receive_window * busy_ns / 1e3);
    sample.send_buffer_limited_us = rounded(traffic.send_buffer * busy_ns / 1e3);
    const double bytes = bytes_of(traffic.mbps, busy_ns);
    sample.bytes_sent = rounded(bytes);
    sample.bytes_acked = rounded(bytes);
    sample.retransmits = rounded(traffic.lost * bytes / kPacketBytes);
    flow.sockets.at(static_cast<std::size_t>(direction)).push_back(sample);
  }
}

void MadeRun::add_packet_samples(FlowData& flow, Direction direction,
                                 const MadeTraffic& traffic) const {
  const auto place = static_cast<std::size_t>(direction);
  double before = 0;
  for (std::int64_t t_ns = kStartNs + kBinNs; t_ns <= span().end_ns; t_ns += kBinNs) {
    const double bytes = bytes_of(traffic.mbps, busy_until_ns(t_ns, traffic.busy_ms));
    if (bytes > before) {
      const double again = traffic.lost / kPacketBytes;
      flow.packets.at(place).push_back(
          {.t_ns = t_ns,
           .bin_ns = kBinNs,
           .direction = direction,
           .packets = rounded((bytes - before) / kPacketBytes),
           .payload_bytes = rounded(bytes - before),
           .retransmitted_packets = rounded(again * bytes) - rounded(again * before),
           .rtt_us = traffic.rtt_us,
           .min_rtt_us = traffic.min_rtt_us});
    }
    before = bytes;
  }
  flow.totals.at(place) = {.direction = direction,
                           .packets = rounded(before / kPacketBytes),
                           .payload_bytes = rounded(before),
                           .retransmitted_packets = rounded(traffic.lost * before / kPacketBytes)};
}

void MadeRun::add_traffic(std::size_t connection, Direction direction, const MadeTraffic& traffic) {
  const auto from = static_cast<std::size_t>(direction);
  for (const std::size_t end : {from, 1 - from}) {
    if (const auto& place = data.connections[connection].ends.at(end)) {
      FlowData& flow = data.nodes[place->node].flows[place->flow];
      if (end == from) {
        add_socket_samples(flow, direction, traffic);
      }
      add_packet_samples(flow, direction, traffic);
    }
  }
}

void MadeRun::collectives(double took_ms, const std::vector<double>& late_ms) {
  const double last_ms = std::ranges::max(late_ms);
  for (std::size_t place = 0; place < data.nodes.size(); ++place) {
    for (std::int64_t number = 0; number < steps_.steps; ++number) {
      const double end_ms = steps_.step_ms * static_cast<double>(number + 1);
      const auto at = [&](double before_ms) {
        return kStartNs + rounded((end_ms - before_ms) * kMsNs);
      };
      const std::int64_t own_ns = at(took_ms + last_ms - late_ms.at(place));
      data.nodes[place].collectives.push_back({.start_ns = own_ns,
                                               .end_ns = at(0),
                                               .number = number,
                                               .kind = record::CollectiveKind::AllReduce,
                                               .bytes = 1'000'000,
                                               .own_ready_ns = own_ns,
                                               .peer_ready_ns = at(took_ms),
                                               .first_data_ns = at(took_ms),
                                               .last_data_ns = at(0)});
    }
  }
}

void MadeRun::counter(NodeData& node, std::string_view name, const std::string& subject,
                      double per_s) {
  const double seconds = static_cast<double>(span().length_ns()) / 1e9;
  node.series.push_back(
      {.row = {.name = std::string(name), .subject = subject},
       .readings = {{.t_ns = span().start_ns}, {.t_ns = span().end_ns, .value = per_s * seconds}}});
}

void MadeRun::gauge(NodeData& node, std::string_view name, const std::string& subject,
                    double value) {
  node.series.push_back(
      {.row = {.name = std::string(name), .subject = subject, .kind = record::SeriesKind::Gauge},
       .readings = {{.t_ns = span().start_ns, .value = value}}});
}

void MadeRun::lose(const std::string& name) {
  const auto gone = static_cast<std::size_t>(&node(name) - data.nodes.data());
  for (Connection& connection : data.connections) {
    for (const std::size_t end : {0U, 1U}) {
      auto& place = connection.ends.at(end);
      if (place && place->node == gone) {
        place.reset();
        connection.names.at(end) = end == 0 ? connection.row.a_address : connection.row.b_address;
      } else if (place && place->node > gone) {
        --place->node;
      }
    }
  }
  data.nodes.erase(data.nodes.begin() + static_cast<std::ptrdiff_t>(gone));
}

MadeTraffic full_link(double mbps) {
  return {.mbps = mbps,
          .rtt_us = 20'000,
          .like = {.mss_bytes = 1448,
                   .cwnd_packets = 1000,
                   .unacked_packets = 300,
                   .unsent_bytes = 1'000'000,
                   .send_queue_bytes = 1'400'000}};
}

}  // namespace chokepoint::analysis
