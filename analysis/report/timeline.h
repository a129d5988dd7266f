// How a run went, on one time axis for all nodes: figures by bins of time, lanes of what ranks did
// one after the other, bars of the accounts of steps, and moments to look at. For the page to draw;
// nothing is judged here. Values and pure functions.
//
// Times are nanoseconds of the common clock. A page must stay small however long the run was, so
// the size of every part is bounded: TimelineLimits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/attribution/step_accounts.h"
#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

struct TimelineLimits {
  std::size_t bins = 1400;            // of a track
  std::size_t node_values = 130'000;  // of all tracks of nodes together
  std::size_t flow_values = 90'000;   // of all tracks of connections together
  std::size_t flows = 64;             // with tracks
  std::size_t steps = 6000;           // shown one by one; of more, several are shown as one
  std::size_t collectives = 12'000;   // of all nodes
  std::size_t ranks = 16;             // with lanes; one of each node at least
  std::size_t communicating = 6000;   // spans; the shortest pauses between more are not shown
  std::size_t moments = 200;
  std::int64_t shortest_bin_ns = 20'000'000;  // as often as sockets are read
};

// Bins from one edge to the next; shorter where full detail was read.
struct TimeAxis {
  std::vector<std::int64_t> edges_ns = {};
  std::size_t bins() const { return edges_ns.empty() ? 0 : edges_ns.size() - 1; }
};

// A curve. NaN in `values` is a bin of which nothing is known.
struct Track {
  std::string group = {};  // one picture shows a group: "throughput"
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

struct ShownStep {
  Span span = {};
  std::int64_t count = 1;  // of steps shown as one
  bool is_settled = true;
};

// In order, of the rank by which steps are counted.
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

enum class LaneKind : std::uint8_t { Steps, Collectives, Waiting };

// What one rank did, or the times in which others waited for it.
struct Lane {
  std::string node = {};
  std::optional<std::int64_t> rank = {};
  LaneKind kind = LaneKind::Steps;
  std::vector<std::string> names = {};
  std::vector<LaneEntry> entries = {};
  std::int64_t all = 0;  // how many there are; `entries` has a part of them
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
  ClockSource clock_source = ClockSource::None;
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

// About `bins` bins, none shorter than `shortest_ns`. Where windows were read in full, half of the
// bins have equal length over the whole and the other half lie inside the windows; without windows
// all have equal length.
TimeAxis time_axis(Span whole, std::span<const Span> windows, std::size_t bins,
                   std::int64_t shortest_ns);

// Of more than `most` steps, equal numbers of neighbors are shown as one.
ShownSteps shown_steps(const StepLine& steps, std::size_t most);

// Joins spans, which are in order and do not overlap, over the shortest pauses until `most` are
// left.
std::vector<Span> joined(std::vector<Span> spans, std::size_t most);

// The time that a node's record covers, by the node's own clock. A record that lost its sessions
// has no end: then the time of its rows. Of length 0 where it holds nothing.
Span known_span(const NodeData& node);

// A step's account as a bar; of more steps than a page can show, the mean over several.
struct StepBar {
  std::int64_t number = 0;     // of its first step, counted from 1
  std::int64_t start_ns = 0;   // on the common clock
  std::int64_t count = 1;      // of steps
  Accounting accounting = {};  // per step
};

std::vector<StepBar> step_bars(const std::vector<StepAccounts>& accounts, const StepLine& steps,
                               std::size_t most);

}  // namespace chokepoint::analysis
