#include "analysis/report/track_maker.h"

namespace chokepoint::analysis {

TrackMaker::TrackMaker(const RunData& run, const Clocks& clocks, const std::vector<TimeAxis>& axes)
    : run_(run) {
  for (std::size_t axis = 0; axis < edges_.size(); ++axis) {
    for (std::size_t node = 0; node < run.nodes.size(); ++node) {
      Edges& edges = edges_.at(axis).emplace_back(axes[axis].edges_ns);
      for (std::int64_t& edge : edges) {
        edge = clocks.local_ns(node, edge);
      }
    }
  }
}

Values TrackMaker::read_in_full(AxisUse axis, std::size_t node, Values values) const {
  const std::vector<Span>& windows = run_.nodes[node].windows;
  return windows.empty() ? watched(axis, node, std::move(values))
                         : inside(edges(axis, node), windows, std::move(values));
}

Values TrackMaker::watched(AxisUse axis, std::size_t node, Values values) const {
  return inside(edges(axis, node), std::span(&run_.nodes[node].span, 1), std::move(values));
}

void add_track(Track track, std::vector<Track>& tracks) {
  if (is_any_known(track.values)) {
    tracks.push_back(std::move(track));
  }
}

}  // namespace chokepoint::analysis
