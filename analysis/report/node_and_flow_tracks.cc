// Tracks of nodes and, below, of connections. Of nodes: what the job sent, the host's interfaces,
// cores, memory and GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string_view>

#include "analysis/attribution/hosts.h"
#include "analysis/load/connections.h"
#include "analysis/report/flow_table.h"
#include "analysis/report/tracks.h"
#include "base/record/names.h"
#include "base/record/series_table.h"

namespace chokepoint::analysis {
namespace {

using record::TrackOf;

Values values_of(const record::SeriesTrack& track, const SeriesData& series, const Edges& edges) {
  switch (track.value) {
    case record::TrackValue::PerSecond:
      return rate_of(series, edges);
    case record::TrackValue::BytesToMbps:
      return times(rate_of(series, edges), 8e-6);
    case record::TrackValue::BytesToMegabytes:
      return times(rate_of(series, edges), 1e-6);
    case record::TrackValue::PercentOfTime:
      return times(rate_of(series, edges), 1e-7);
    case record::TrackValue::Level:
      return level_of(series, edges);
    case record::TrackValue::LevelBytesToMbps:
      return times(level_of(series, edges), 8e-6);
  }
  return {};
}

std::string source_of(const record::SeriesDescription& row, const SeriesData& series,
                      const NodeData& node) {
  return fmt::format("{} of {}{}", row.name,
                     row.track.of == TrackOf::Each ? series.row.subject + " on " : "", node.name);
}

class NodeTracks {
 public:
  NodeTracks(const TrackMaker& maker, std::size_t place, std::vector<Track>& tracks)
      : maker_(maker),
        place_(place),
        node_(maker.run().nodes[place]),
        edges_(maker.edges(AxisUse::Node, place)),
        tracks_(tracks) {}

  void add() {
    add_throughput(record::kJobSentBytes, 0, "sent");
    add_throughput(record::kJobReceivedBytes, 1, "received");
    add_retransmissions();
    for (const record::SeriesDescription& row : record::series_table()) {
      if (!row.track.group.empty()) {
        add_series(row);
      }
    }
    add_all_cores();
  }

 private:
  Track track(std::string_view group, std::string_view name, std::string_view unit) const {
    return {.group = std::string(group),
            .node = node_.name,
            .name = std::string(name),
            .unit = std::string(unit),
            .axis = static_cast<std::size_t>(AxisUse::Node)};
  }

  void add_known(Track made) {
    made.values = maker_.watched(AxisUse::Node, place_, std::move(made.values));
    add_track(std::move(made), tracks_);
  }

  // What this node sent (way 0) or received (1), by its packets.
  Values by_packets(std::size_t way, record::Figure record::FlowSample::* what) const {
    std::vector<Point> rows;
    for (const FlowData& flow : node_.flows) {
      if (!flow.row.local_end.known()) {
        continue;
      }
      const auto local = static_cast<std::size_t>(flow.row.local_end.value());
      for (const record::FlowSample& sample : flow.packets.at(way == 0 ? local : 1 - local)) {
        if ((sample.*what).known()) {
          rows.push_back({sample.t_ns, static_cast<double>((sample.*what).value())});
        }
      }
    }
    return maker_.read_in_full(AxisUse::Node, place_, rate_of_sums(rows, edges_));
  }

  Values by_counter(std::string_view name) const {
    Values sum = unknown_values(edges_);
    for (const SeriesData* series : node_.find(name)) {
      sum = sum_of(std::move(sum), rate_of(*series, edges_));
    }
    return sum;
  }

  void add_throughput(std::string_view counter, std::size_t way, std::string_view name) {
    Track made = track("throughput", name, "mbps");
    made.values =
        times(either(by_packets(way, &record::FlowSample::bytes), by_counter(counter)), 8e-6);
    made.source = fmt::format("flow samples of {0}, else {1} of {0}", node_.name, counter);
    add_known(std::move(made));
  }

  void add_retransmissions() {
    Track made = track("retransmissions", "retransmitted", "per_s");
    made.values = either(by_packets(0, &record::FlowSample::retransmitted_packets),
                         by_counter("tcp.RetransSegs"));
    made.source = fmt::format("flow samples of {0}, else tcp.RetransSegs of {0}", node_.name);
    add_known(std::move(made));
  }

  static bool is_meant(const record::SeriesDescription& row, const SeriesData& series) {
    const bool is_all = series.row.subject == "all";
    return series.row.name == row.name && !series.readings.empty() &&
           (row.track.of == TrackOf::All ? is_all
                                         : row.track.of != TrackOf::BusiestCore || !is_all);
  }

  void add_series(const record::SeriesDescription& row) {
    Track together = track(row.track.group, row.track.label, row.track.unit);
    together.values = unknown_values(edges_);
    for (const SeriesData& series : node_.series) {
      if (!is_meant(row, series)) {
        continue;
      }
      Values values = values_of(row.track, series, edges_);
      together.source = source_of(row, series, node_);
      if (row.track.of == TrackOf::Each) {
        Track own = together;
        own.subject = series.row.subject;
        own.values = std::move(values);
        add_if_worth(row, std::move(own));
      } else {
        together.values = row.track.of == TrackOf::BusiestCore
                              ? most_of(std::move(together.values), values)
                              : sum_of(std::move(together.values), values);
      }
    }
    add_if_worth(row, std::move(together));
  }

  void add_if_worth(const record::SeriesDescription& row, Track made) {
    if (!row.track.only_if_any ||
        std::ranges::any_of(made.values, [](double value) { return value > 0; })) {
      add_known(std::move(made));
    }
  }

  void add_all_cores() {
    const SeriesData* all = node_.find(record::kCpuBusy, "all");
    const std::optional<double> count = fact_number(node_, "cpu", "", "online");
    if (all == nullptr || count.value_or(0) < 1) {
      return;
    }
    Track made = track("cpu", "all cores", "percent");
    made.values = times(rate_of(*all, edges_), 1e-7 / *count);
    made.source = fmt::format("{} of {}, and how many cores it has", record::kCpuBusy, node_.name);
    add_known(std::move(made));
  }

  const TrackMaker& maker_;
  const std::size_t place_;
  const NodeData& node_;
  const Edges& edges_;
  std::vector<Track>& tracks_;
};

}  // namespace

std::vector<Track> node_tracks(const TrackMaker& maker) {
  std::vector<Track> tracks;
  for (std::size_t place = 0; place < maker.run().nodes.size(); ++place) {
    NodeTracks(maker, place, tracks).add();
  }
  return tracks;
}

// Tracks of single connections and directions: by packets where these were read, else by the
// kernel's counters of the sending socket.

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
