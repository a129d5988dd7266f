// What every kind of track needs: the axes, by the clock of each node, and which of its time was
// read. Borrows the run and its clocks.
#pragma once

#include <array>
#include <vector>

#include "analysis/report/binned.h"
#include "analysis/report/timeline.h"

namespace chokepoint::analysis {

enum class AxisUse : std::size_t { Node, Flow };  // places in Timeline::axes

class TrackMaker {
 public:
  TrackMaker(const RunData& run, const Clocks& clocks, const std::vector<TimeAxis>& axes);

  const RunData& run() const { return run_; }
  // By that node's own clock.
  const Edges& edges(AxisUse axis, std::size_t node) const {
    return edges_[static_cast<std::size_t>(axis)][node];
  }
  // Of what the bins tell, what lies within the time of which the node's samples were all read.
  Values read_in_full(AxisUse axis, std::size_t node, Values values) const;
  // What lies within the time in which somebody watched.
  Values watched(AxisUse axis, std::size_t node, Values values) const;

 private:
  const RunData& run_;
  std::array<std::vector<Edges>, 2> edges_;
};

// Adds it unless nothing is known.
void add_track(Track track, std::vector<Track>& tracks);

std::vector<Track> node_tracks(const TrackMaker& maker);
// Of the connections that carried most. `most` is the number of these.
std::vector<Track> flow_tracks(const TrackMaker& maker, std::size_t most);
constexpr std::size_t kTracksOfFlow = 10;

}  // namespace chokepoint::analysis
