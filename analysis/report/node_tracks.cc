// Tracks of nodes: what the job sent, the host's interfaces, cores, memory and GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/attribution/hosts.h"
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

}  // namespace chokepoint::analysis
