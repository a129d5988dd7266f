#include "tests/analysis/timeline/true_clocks.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::analysis {
namespace {

using record::Direction;

constexpr std::int64_t kWallStart = 1'795'000'000'000'000'000;

}  // namespace

TrueClock wrong_clock(std::int64_t shift_ns, double drift_ppm) {
  return [=](double true_ns) { return shift_ns + std::llround(true_ns * (1 + drift_ppm * 1e-6)); };
}

std::size_t TrueRun::node(const std::string& name, TrueClock clock) {
  NodeData node;
  node.name = name;
  node.host = "host-of-" + name;
  node.boot_id = "boot-of-" + name;
  node.span = {clock(0), clock(seconds_ * 1e9)};
  node.wall_start_ns = kWallStart;
  data.nodes.push_back(std::move(node));
  clocks_.push_back(std::move(clock));
  return data.nodes.size() - 1;
}

std::size_t TrueRun::connect(std::size_t a, std::size_t b) {
  Connection connection;
  const std::size_t number = data.connections.size();
  for (const std::size_t end : {0U, 1U}) {
    const std::size_t node = end == 0 ? a : b;
    FlowData flow;
    flow.row.id = static_cast<std::int64_t>(number) + 1;
    data.nodes[node].flows.push_back(std::move(flow));
    connection.ends[end] = FlowPlace{node, data.nodes[node].flows.size() - 1};
  }
  data.connections.push_back(connection);
  return number;
}

record::FlowMark TrueRun::mark(std::size_t node, Direction direction, double true_ns) const {
  return {.t_ns = clocks_[node](true_ns), .direction = direction, .sequence = sequence};
}

void TrueRun::add_packet(std::size_t connection, Direction direction, double sent_ns,
                         double delay_ns, const MarkedTraffic& traffic) {
  const auto way = static_cast<std::size_t>(direction);
  const Connection& joined = data.connections[connection];
  const FlowPlace from = *joined.ends[way];
  const FlowPlace to = *joined.ends[1 - way];
  std::uniform_real_distribution<double> chance;
  if (chance(random) >= traffic.only_one_end / 2) {
    data.nodes[from.node].flows[from.flow].marks[way].push_back(
        mark(from.node, direction, sent_ns));
  }
  if (chance(random) >= traffic.only_one_end / 2) {
    data.nodes[to.node].flows[to.flow].marks[way].push_back(
        mark(to.node, direction, sent_ns + delay_ns));
  }
  sequence = static_cast<std::int64_t>(
      static_cast<std::uint32_t>(sequence + static_cast<std::int64_t>(traffic.bytes)));
}

void TrueRun::packet(std::size_t connection, Direction direction, double sent_ns, double delay_ns) {
  add_packet(connection, direction, sent_ns, delay_ns, {.only_one_end = 0});
}

void TrueRun::add_traffic(std::size_t connection, const MarkedTraffic& traffic) {
  std::exponential_distribution<double> jitter(1 / std::max(traffic.jitter_us, 1e-3));
  std::exponential_distribution<double> queue(1 / traffic.queue_us);
  std::uniform_real_distribution<double> chance;
  const double every_ns = 1e9 / traffic.per_s;
  for (double t_ns = traffic.from_s * 1e9; t_ns < traffic.to_s * 1e9; t_ns += every_ns) {
    for (const Direction direction : {Direction::AToB, Direction::BToA}) {
      const bool is_there = direction == Direction::AToB;
      double delay_us = (is_there ? traffic.there_us + traffic.standing_us : traffic.back_us);
      delay_us += jitter(random);
      if (chance(random) < traffic.queued) delay_us += queue(random);
      const double moment_ns = t_ns + 0.5 * every_ns * chance(random);
      add_packet(connection, direction, moment_ns, delay_us * 1e3, traffic);
    }
  }
}

double TrueRun::worst_us(const Clocks& clocks, std::size_t node) const {
  double worst_ns = 0;
  for (int tick = 0; tick <= 1'000; ++tick) {
    const double true_ns = seconds_ * 1e9 * tick / 1'000;
    const std::int64_t here = clocks.common_ns(node, clocks_[node](true_ns));
    const std::int64_t there =
        clocks.common_ns(clocks.reference, clocks_[clocks.reference](true_ns));
    worst_ns = std::max(worst_ns, std::abs(static_cast<double>(here - there)));
  }
  return worst_ns / 1e3;
}

}  // namespace chokepoint::analysis
