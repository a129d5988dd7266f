// The rows of a trace: the process that a node's row belongs to (Places), counter tracks of values
// (Level) and of rates (Growth, SpanRate), and rows of spans (Lanes). Each writes a track's
// description before its first event. They borrow the run and the writer; one thread.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/export/exported_run.h"
#include "analysis/export/perfetto/trace_writer.h"

namespace chokepoint::analysis {

// The processes of one node in the trace: one for each rank, one for the node itself.
class Places {
 public:
  Places(ExportedRun& run, std::size_t node, TraceWriter& trace);

  std::size_t node() const { return node_; }
  Track host();
  // Where the row does not name its rank: the rank of a node that has only one, else the node.
  Track of_rank(record::Figure rank);
  // Of the process that a connection belongs to.
  Track of_flow(std::int64_t flow);
  // Null where the node's record has no such connection.
  const record::Flow* flow(std::int64_t id) const;
  // The other end of a connection: "rank 1 on b", or its address.
  std::string peer_of(std::int64_t flow) const;
  // The exported span, by the node's own clock.
  Span wanted() const { return run_.span_of(node_); }
  // The start of a span that ends at t_ns; also for an impossible length in a broken record.
  std::int64_t start_wall_ns(std::int64_t t_ns, std::int64_t bin_ns) const {
    return wall_ns(t_ns) - std::clamp<std::int64_t>(bin_ns, 0, kFarNs);
  }
  std::int64_t wall_ns(std::int64_t t_ns) const { return run_.clock().wall_ns(node_, t_ns); }

 private:
  void take_peers();

  ExportedRun& run_;
  std::size_t node_;
  TraceWriter& trace_;
  std::optional<Track> host_;
  std::map<std::int64_t, Track> ranks_;
  std::map<std::int64_t, std::string> commands_;                  // by rank
  std::unordered_map<std::int64_t, std::int64_t> process_ranks_;  // by the process' id
  std::unordered_map<std::int64_t, record::Flow> flows_;
  std::unordered_map<std::int64_t, std::string> peers_;
};

// Factors from growth per nanosecond.
constexpr double kPerSecond = 1e9;
constexpr double kMbpsOfBytesPerNs = 8e3;

// A counter track. Leaves out a value that equals the one before: a viewer holds it until the next.
class Level {
 public:
  Level(TraceWriter& trace, Track parent, std::string name, std::string unit)
      : trace_(&trace), parent_(parent), name_(std::move(name)), unit_(std::move(unit)) {}

  void put(std::int64_t wall_ns, double value) {
    if (last_ == value) {
      return;
    }
    last_ = value;
    if (!track_) {
      track_ = trace_->counter(parent_, name_, unit_);
    }
    trace_->count(*track_, wall_ns, value);
  }
  // A counter that is always 0 gets no track.
  void put_unless_always_zero(std::int64_t wall_ns, double value) {
    if (track_ || value != 0) {
      put(wall_ns, value);
    }
  }

 private:
  TraceWriter* trace_;
  Track parent_;
  std::string name_;
  std::string unit_;
  std::optional<Track> track_;
  std::optional<double> last_;
};

// The rate of a counter that only grows, constant between two readings.
class Growth {
 public:
  // `scale`: from growth per nanosecond to the unit.
  Growth(Level level, double scale) : level_(std::move(level)), scale_(scale) {}

  void put(std::int64_t wall_ns, double value) {
    if (last_ && wall_ns > last_->wall_ns) {
      const double grown = value - last_->value;
      level_.put_unless_always_zero(last_->wall_ns,
                                    grown * scale_ / static_cast<double>(wall_ns - last_->wall_ns));
    }
    if (!last_ || wall_ns > last_->wall_ns) {
      last_ = {wall_ns, value};
    }
  }
  // 0 from the last reading on.
  void finish() {
    if (last_) {
      level_.put_unless_always_zero(last_->wall_ns, 0);
    }
  }

 private:
  struct Reading {
    std::int64_t wall_ns = 0;
    double value = 0;
  };
  Level level_;
  double scale_;
  std::optional<Reading> last_;
};

// The rate within spans, and 0 in the gaps between them.
class SpanRate {
 public:
  SpanRate(Level level, double scale) : level_(std::move(level)), scale_(scale) {}

  void put(std::int64_t start_ns, std::int64_t end_ns, double amount) {
    if (end_ns <= start_ns || start_ns < end_ns_) {
      return;
    }
    if (end_ns_ > 0 && start_ns > end_ns_) {
      level_.put_unless_always_zero(end_ns_, 0);
    }
    level_.put_unless_always_zero(start_ns,
                                  amount * scale_ / static_cast<double>(end_ns - start_ns));
    end_ns_ = end_ns;
  }
  void finish() {
    if (end_ns_ > 0) {
      level_.put_unless_always_zero(end_ns_, 0);
    }
  }

 private:
  Level level_;
  double scale_;
  std::int64_t end_ns_ = 0;
};

// Spans that may overlap, on as many tracks as they need to overlap on none, since a viewer nests
// slices. All tracks have the same name, so that a viewer folds them into one row.

class Lanes {
 public:
  Lanes(TraceWriter& trace, Track parent, std::string name)
      : trace_(&trace), parent_(parent), name_(std::move(name)) {}

  // A span that ends before it starts becomes a moment. False where all kMaxLanes tracks are in
  // use.
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
  static constexpr std::size_t kMaxLanes = 64;
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
    if (lanes_.size() == kMaxLanes) {
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
