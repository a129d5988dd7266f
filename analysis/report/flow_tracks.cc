// Tracks of single connections and directions: by packets where these were read, else by the
// kernel's counters of the sending socket.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "analysis/report/flow_table.h"
#include "analysis/report/tracks.h"

namespace chokepoint::analysis {
namespace {

using record::Figure;

template <class Row, class F>
std::vector<Point> points_of(const std::vector<Row>& rows, F&& value) {
  std::vector<Point> points;
  for (const Row& row : rows) {
    if (const Figure figure = std::invoke(value, row); figure.known()) {
      points.push_back({row.t_ns, static_cast<double>(figure.value())});
    }
  }
  return points;
}

Figure congestion_window(const record::SocketSample& sample) {
  const auto bytes = cwnd_bytes(sample, {});
  return bytes ? Figure(*bytes) : Figure();
}

class FlowTracks {
 public:
  FlowTracks(const TrackMaker& maker, std::size_t place, std::vector<Track>& tracks)
      : maker_(maker),
        place_(place),
        connection_(maker.run().connections[place]),
        tracks_(tracks) {}

  void add(record::Direction direction) {
    way_ = static_cast<std::size_t>(direction);
    add("throughput", "payload", "mbps", direction,
        times(either(sums(&record::FlowSample::payload_bytes),
                     counts(&record::SocketSample::bytes_acked)),
              8e-6));
    add("retransmissions", "retransmitted", "per_s", direction,
        either(sums(&record::FlowSample::retransmitted_packets),
               counts(&record::SocketSample::retransmits)));
    add("rtt", "round trip", "ms", direction,
        times(either(mean(&record::SocketSample::rtt_us), levels(&record::FlowSample::rtt_us)),
              1e-3));
    add("cwnd", "congestion window", "bytes", direction, mean(congestion_window));
    add("window", "receive window", "bytes", direction,
        either(mean(&record::SocketSample::send_window_bytes),
               levels(&record::FlowSample::window_bytes)));
  }

 private:
  // `side`: 0 is the sender's end, 1 the receiver's.
  const FlowData* end(std::size_t side) const {
    const std::optional<FlowPlace>& place = connection_.ends.at(side == 0 ? way_ : 1 - way_);
    return place ? &maker_.run().flow(*place) : nullptr;
  }
  std::size_t node_of(std::size_t side) const {
    return connection_.ends.at(side == 0 ? way_ : 1 - way_)->node;
  }
  const Edges& edges(std::size_t side) const { return maker_.edges(AxisUse::Flow, node_of(side)); }
  Values nothing() const { return unknown_values(maker_.edges(AxisUse::Flow, 0)); }

  // From the samples of packets at the first end that has some.
  template <class F>
  Values of_packets(Figure record::FlowSample::* what, F&& values_of) const {
    for (const std::size_t side : {0U, 1U}) {
      if (end(side) != nullptr && !end(side)->packets.at(way_).empty()) {
        return values_of(side, points_of(end(side)->packets.at(way_), what));
      }
    }
    return nothing();
  }

  Values sums(Figure record::FlowSample::* what) const {
    return of_packets(what, [&](std::size_t side, const std::vector<Point>& rows) {
      return maker_.read_in_full(AxisUse::Flow, node_of(side), rate_of_sums(rows, edges(side)));
    });
  }
  Values levels(Figure record::FlowSample::* what) const {
    return of_packets(what, [&](std::size_t side, const std::vector<Point>& rows) {
      return mean_of(rows, edges(side));
    });
  }

  // From the samples of the sender's socket.
  Values counts(Figure record::SocketSample::* what) const {
    return end(0) == nullptr ? nothing()
                             : rate_of_counts(points_of(end(0)->sockets.at(way_), what), edges(0));
  }
  template <class F>
  Values mean(F&& value) const {
    return end(0) == nullptr ? nothing()
                             : mean_of(points_of(end(0)->sockets.at(way_), value), edges(0));
  }

  std::string source() const {
    const std::string& sender = connection_.names.at(way_);
    const std::string& receiver = connection_.names.at(1 - way_);
    return end(0) != nullptr ? fmt::format("flow and socket samples of {}", sender)
                             : fmt::format("flow samples of {}", receiver);
  }

  void add(const char* group, const char* name, const char* unit, record::Direction direction,
           Values values) {
    add_track({.group = group,
               .node = connection_.names.at(way_),
               .flow = place_,
               .name = name,
               .direction = direction,
               .unit = unit,
               .axis = static_cast<std::size_t>(AxisUse::Flow),
               .values = std::move(values),
               .source = source()},
              tracks_);
  }

  const TrackMaker& maker_;
  const std::size_t place_;
  const Connection& connection_;
  std::vector<Track>& tracks_;
  std::size_t way_ = 0;
};

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

}  // namespace

std::vector<Track> flow_tracks(const TrackMaker& maker, std::size_t most) {
  const RunData& run = maker.run();
  std::vector<std::size_t> places(run.connections.size());
  std::iota(places.begin(), places.end(), 0);
  std::ranges::stable_sort(places, std::greater<>(), [&](std::size_t place) {
    return payload_of(run, run.connections[place]);
  });
  places.resize(std::min(places.size(), most));
  std::vector<Track> tracks;
  for (const std::size_t place : places) {
    FlowTracks of_flow(maker, place, tracks);
    of_flow.add(record::Direction::AToB);
    of_flow.add(record::Direction::BToA);
  }
  return tracks;
}

}  // namespace chokepoint::analysis
