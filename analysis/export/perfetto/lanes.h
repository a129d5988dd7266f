// Spans that may overlap, on as many tracks as it takes so that those of one track never do: what a
// viewer of nested slices needs. The tracks have one name, by which a viewer folds them into one
// row. One thread.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/export/perfetto/trace_writer.h"

namespace chokepoint::analysis {

class Lanes {
 public:
  Lanes(TraceWriter& trace, Track parent, std::string name)
      : trace_(&trace), parent_(parent), name_(std::move(name)) {}

  // One that ends before it starts is a moment. False where it found no room among the tracks that
  // there may be.
  bool add(std::int64_t start_ns, std::int64_t end_ns, std::string_view name,
           const EventParts& parts = {}) {
    const Lane* lane = lane_for(start_ns, std::max(start_ns, end_ns));
    if (lane == nullptr) {
      return false;
    }
    trace_->begin(lane->track, start_ns, name, parts);
    trace_->end(lane->track, lane->end_ns);
    return true;
  }

 private:
  static constexpr std::size_t kMostLanes = 64;
  struct Lane {
    Track track = 0;
    std::int64_t end_ns = 0;
  };

  const Lane* lane_for(std::int64_t start_ns, std::int64_t end_ns) {
    for (Lane& lane : lanes_) {
      if (lane.end_ns <= start_ns) {
        lane.end_ns = end_ns;
        return &lane;
      }
    }
    if (lanes_.size() == kMostLanes) {
      return nullptr;
    }
    lanes_.push_back({trace_->track(parent_, name_), end_ns});
    return &lanes_.back();
  }

  TraceWriter* trace_;
  Track parent_;
  std::string name_;
  std::vector<Lane> lanes_;
};

}  // namespace chokepoint::analysis
