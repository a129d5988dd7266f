// FlowTracks: a node's connections in the trace.
#include <fmt/format.h>

#include "analysis/export/perfetto/node_tracks.h"
#include "analysis/export/perfetto/tracks.h"

namespace chokepoint::analysis {
namespace {

using record::FlowSample;
using record::SocketSample;

// Data after a shorter pause belongs to the same burst.
constexpr std::int64_t kMinPauseNs = 1'000'000;
constexpr double kPercentOfUsPerNs = 1e5;
constexpr double kMbpsOfBytesPerS = 8e-6;

template <class Row>
struct Measure {
  const char* name;
  const char* unit;
  record::Figure Row::* figure;
  double scale = 1;
  bool is_shown_at_zero = true;  // else only after another value
};

constexpr std::array kPacketRates{
    Measure<FlowSample>{"throughput", "Mbit/s", &FlowSample::bytes, kMbpsOfBytesPerNs},
    Measure<FlowSample>{"retransmitted", "packets/s", &FlowSample::retransmitted_packets,
                        kPerSecond},
    Measure<FlowSample>{"out of order", "packets/s", &FlowSample::out_of_order, kPerSecond},
    Measure<FlowSample>{"window closed", "1/s", &FlowSample::zero_windows, kPerSecond},
    Measure<FlowSample>{"window full", "1/s", &FlowSample::window_full, kPerSecond},
    Measure<FlowSample>{"congestion marks", "packets/s", &FlowSample::congestion_marks,
                        kPerSecond}};

constexpr std::array kPacketLevels{
    Measure<FlowSample>{"round trip by packets", "us", &FlowSample::rtt_us},
    Measure<FlowSample>{"most in flight", "bytes", &FlowSample::max_in_flight_bytes},
    Measure<FlowSample>{"receive window", "bytes", &FlowSample::window_bytes}};

constexpr std::array kSocketLevels{
    Measure<SocketSample>{"congestion window", "packets", &SocketSample::cwnd_packets},
    Measure<SocketSample>{"round trip by kernel", "us", &SocketSample::rtt_us},
    Measure<SocketSample>{"in flight", "packets", &SocketSample::unacked_packets},
    Measure<SocketSample>{"send queue", "bytes", &SocketSample::send_queue_bytes, 1, false},
    Measure<SocketSample>{"not yet sent", "bytes", &SocketSample::unsent_bytes, 1, false},
    Measure<SocketSample>{"receive queue", "bytes", &SocketSample::receive_queue_bytes, 1, false},
    Measure<SocketSample>{"peer's window", "bytes", &SocketSample::send_window_bytes},
    Measure<SocketSample>{"lost", "packets", &SocketSample::lost_packets, 1, false},
    Measure<SocketSample>{"delivery rate", "Mbit/s", &SocketSample::delivery_bytes_per_s,
                          kMbpsOfBytesPerS}};

constexpr std::array kSocketGrowths{
    Measure<SocketSample>{"retransmitted by kernel", "1/s", &SocketSample::retransmits, kPerSecond},
    Measure<SocketSample>{"something to send", "%", &SocketSample::busy_us, kPercentOfUsPerNs},
    Measure<SocketSample>{"held by receive window", "%", &SocketSample::receive_window_limited_us,
                          kPercentOfUsPerNs},
    Measure<SocketSample>{"held by send buffer", "%", &SocketSample::send_buffer_limited_us,
                          kPercentOfUsPerNs}};

template <class Measures>
Level level_of(TraceWriter& trace, Track parent, const Measures& measure, const std::string& way) {
  return {trace, parent, fmt::format("{} {}", measure.name, way), measure.unit};
}

// Calls put(place, value) for each measure that the row knows.
template <class Row, std::size_t Count, class F>
void each_known(const std::array<Measure<Row>, Count>& measures, const Row& row, F&& put) {
  for (std::size_t place = 0; place < Count; ++place) {
    if (const record::Figure figure = row.*(measures.at(place).figure); figure.known()) {
      put(place, static_cast<double>(figure.value()));
    }
  }
}

template <class Row, std::size_t Count>
void put_levels(std::vector<Level>& levels, const std::array<Measure<Row>, Count>& measures,
                const Row& row, std::int64_t wall_ns) {
  each_known(measures, row, [&](std::size_t place, double value) {
    const Measure<Row>& measure = measures.at(place);
    if (measure.is_shown_at_zero) {
      levels[place].put(wall_ns, value * measure.scale);
    } else {
      levels[place].put_unless_always_zero(wall_ns, value * measure.scale);
    }
  });
}

std::string end_text(const std::string& address, record::Figure port) {
  const bool is_six = address.find(':') != std::string::npos;
  const std::string host = is_six ? "[" + address + "]" : address;
  return port.known() ? fmt::format("{}:{}", host, port.value()) : host;
}

}  // namespace

void FlowTracks::add(const FlowSample& sample) {
  const auto side = static_cast<std::size_t>(sample.direction);
  if (side > 1) {
    return;
  }
  FlowRow& row = row_of(sample.flow);
  Packets& packets = packets_of(row, sample.flow, side);
  const std::int64_t end_ns = places_.wall_ns(sample.t_ns);
  const std::int64_t start_ns = places_.start_wall_ns(sample.t_ns, sample.bin_ns);
  each_known(kPacketRates, sample, [&](std::size_t place, double amount) {
    packets.rates[place].put(start_ns, end_ns, amount);
  });
  put_levels(packets.levels, kPacketLevels, sample, start_ns);
  if (sample.payload_bytes.value_or(0) > 0) {
    add_burst(packets, start_ns, end_ns, static_cast<std::uint64_t>(sample.payload_bytes.value()));
  }
}

void FlowTracks::add(const SocketSample& sample) {
  const auto side = static_cast<std::size_t>(sample.direction);
  if (side > 1) {
    return;
  }
  FlowRow& row = row_of(sample.flow);
  Socket& socket = socket_of(row, sample.flow, side);
  const std::int64_t end_ns = places_.wall_ns(sample.t_ns);
  put_levels(socket.levels, kSocketLevels, sample,
             places_.start_wall_ns(sample.t_ns, sample.bin_ns));
  each_known(kSocketGrowths, sample,
             [&](std::size_t place, double count) { socket.growths[place].put(end_ns, count); });
}

void FlowTracks::finish() {
  for (auto& [flow, row] : rows_) {
    for (Way& way : row.ways) {
      if (way.packets) {
        close(*way.packets);
        for (SpanRate& rate : way.packets->rates) {
          rate.finish();
        }
      }
      if (way.socket) {
        for (Growth& growth : way.socket->growths) {
          growth.finish();
        }
      }
    }
  }
}

void FlowTracks::add_burst(Packets& packets, std::int64_t start_ns, std::int64_t end_ns,
                           std::uint64_t bytes) {
  Burst& burst = packets.burst;
  if (burst.end_ns > 0 && start_ns - burst.end_ns < kMinPauseNs) {
    burst.end_ns = std::max(burst.end_ns, end_ns);
    burst.bytes += bytes;
    return;
  }
  close(packets);
  burst = {start_ns, end_ns, bytes};
}

void FlowTracks::close(Packets& packets) {
  const Burst& burst = packets.burst;
  if (burst.end_ns == 0) {
    return;
  }
  Notes notes(trace_);
  notes.add("payload_bytes", static_cast<std::int64_t>(burst.bytes));
  trace_.begin(packets.bursts, burst.start_ns, "data", {.notes = &notes});
  trace_.end(packets.bursts, std::max(burst.start_ns, burst.end_ns));
}

FlowTracks::FlowRow& FlowTracks::row_of(std::int64_t flow) {
  const auto [place, is_new] = rows_.try_emplace(flow);
  if (is_new) {
    place->second.track = trace_.track(group_of(places_.of_flow(flow)), name_of(flow));
  }
  return place->second;
}

Track FlowTracks::group_of(Track process) {
  const auto [place, is_new] = groups_.try_emplace(process);
  if (is_new) {
    place->second = trace_.track(process, "connections");
  }
  return place->second;
}

std::string FlowTracks::name_of(std::int64_t flow) const {
  const record::Flow* row = places_.flow(flow);
  if (row == nullptr) {
    return fmt::format("connection {}", flow);
  }
  const std::string peer = places_.peer_of(flow);
  return fmt::format("{} > {}{}", end_text(row->a_address, row->a_port),
                     end_text(row->b_address, row->b_port),
                     peer.empty() ? "" : fmt::format(" ({})", peer));
}

std::string FlowTracks::way_of(std::int64_t flow, std::size_t side) const {
  const record::Flow* row = places_.flow(flow);
  if (row == nullptr || !row->local_end.known()) {
    return side == 0 ? "a to b" : "b to a";
  }
  return row->local_end.value() == static_cast<std::int64_t>(side) ? "out" : "in";
}

FlowTracks::Packets& FlowTracks::packets_of(FlowRow& row, std::int64_t flow, std::size_t side) {
  std::unique_ptr<Packets>& packets = row.ways.at(side).packets;
  if (!packets) {
    const std::string way = way_of(flow, side);
    packets = std::make_unique<Packets>();
    packets->bursts = trace_.track(row.track, "data " + way);
    for (const auto& measure : kPacketRates) {
      packets->rates.emplace_back(level_of(trace_, row.track, measure, way), measure.scale);
    }
    for (const auto& measure : kPacketLevels) {
      packets->levels.push_back(level_of(trace_, row.track, measure, way));
    }
  }
  return *packets;
}

FlowTracks::Socket& FlowTracks::socket_of(FlowRow& row, std::int64_t flow, std::size_t side) {
  std::unique_ptr<Socket>& socket = row.ways.at(side).socket;
  if (!socket) {
    const std::string way = way_of(flow, side);
    socket = std::make_unique<Socket>();
    for (const auto& measure : kSocketLevels) {
      socket->levels.push_back(level_of(trace_, row.track, measure, way));
    }
    for (const auto& measure : kSocketGrowths) {
      socket->growths.emplace_back(level_of(trace_, row.track, measure, way), measure.scale);
    }
  }
  return *socket;
}

}  // namespace chokepoint::analysis
