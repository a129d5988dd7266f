// How a run went, on one time axis for all nodes: figures by bins of time, what ranks did one after
// the other, and moments worth a look. For those who draw it; nothing is judged here. Values.
//
// Times are nanoseconds of the common clock. A page must stay small whatever the run was, so all
// of it is bounded: TimelineLimits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/inquiry.h"
#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

struct TimelineLimits {
  std::size_t bins = 1400;            // of a track
  std::size_t node_values = 130'000;  // of all tracks of nodes together
  std::size_t flow_values = 90'000;   // of all tracks of connections together
  std::size_t flows = 64;             // with tracks
  std::size_t steps = 6000;           // shown one by one; beyond that some at a time
  std::size_t collectives = 12'000;   // of all nodes
  std::size_t communicating = 6000;   // spans; the shortest pauses between more are not shown
  std::size_t moments = 200;
  std::int64_t shortest_bin_ns = 20'000'000;  // as often as sockets are read
};

// Bins from one edge to the next, not all of one length: fine where full detail was read.
struct TimeAxis {
  std::vector<std::int64_t> edges_ns = {};
  std::size_t bins() const { return edges_ns.empty() ? 0 : edges_ns.size() - 1; }
};

// NaN in `values` is a bin of which nothing is known.
struct Track {
  std::string group = {};  // what is drawn in one picture: "throughput"
  std::string node = {};
  std::optional<std::size_t> flow = {};  // in RunData::connections
  std::string name = {};                 // "sent"
  std::string subject = {};              // "eth0"
  std::optional<record::Direction> direction = {};
  std::string unit = {};
  std::size_t axis = 0;
  std::vector<double> values = {};
  std::string source = {};
};

// Steps in order, of the rank by which they are counted.
struct ShownStep {
  Span span = {};
  std::int64_t count = 1;  // that it stands for
  bool is_settled = true;
};

struct ShownSteps {
  std::optional<record::StepSource> source = {};
  std::vector<ShownStep> steps = {};
  std::int64_t all = 0;
};

struct LaneEntry {
  Span span = {};
  std::size_t name = 0;  // in Lane::names
  std::optional<double> bytes = {};
};

// What one rank did, or what was waited for.
struct Lane {
  std::string node = {};
  std::optional<std::int64_t> rank = {};
  std::string kind = {};  // "steps", "collectives", "waiting"
  std::vector<std::string> names = {};
  std::vector<LaneEntry> entries = {};
  std::int64_t all = 0;  // of which entries are shown
  std::string source = {};
};

struct Moment {
  Span span = {};  // an event has no length
  std::string node = {};
  bool is_evidence = false;  // else an event
  std::string what = {};
  std::string detail = {};
  std::string source = {};
};

struct NodeTime {
  std::string name = {};
  std::vector<std::int64_t> ranks = {};
  std::string clock_source = {};
  std::optional<double> clock_error_ms = {};
};

struct Timeline {
  Span span = {};  // its start is the page's second 0
  std::int64_t wall_start_ns = 0;
  std::vector<NodeTime> nodes = {};
  std::vector<TimeAxis> axes = {};
  std::vector<Track> tracks = {};
  ShownSteps steps = {};
  std::vector<Lane> lanes = {};
  std::vector<Span> communicating = {};
  std::vector<Span> windows = {};  // empty: all was read
  std::vector<Moment> moments = {};
  std::vector<std::string> remarks = {};  // what was left out, and why
};

Timeline timeline_of(const RunData& run, const Inquiry& inquiry,
                     const std::vector<StepAccounts>& steps, const TimelineLimits& limits = {});

}  // namespace chokepoint::analysis
