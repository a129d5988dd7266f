// How a run does at this moment, node by node: for `chokepoint live`. Made of the newest seconds of
// a record (live_run.cc), or of what `run --metrics` serves (metrics.h). What is not known is
// empty, never 0. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/load/run_data.h"
#include "base/json/fields.h"
#include "base/record/reader.h"

namespace chokepoint::analysis {

enum class NodeState : std::uint8_t {
  Running,
  Ended,   // and its record is whole
  CutOff,  // the record has no end, and no process writes it
  Silent,  // does not respond
};

struct LiveNode {
  std::string name = {};
  NodeState state = NodeState::Running;
  std::string command = {};
  std::optional<std::int64_t> exit_status = {};
  std::optional<double> elapsed_s = {};  // since the job began
  std::vector<std::int64_t> ranks = {};
  std::string step_source = {};             // "marks" …
  std::optional<std::int64_t> step = {};    // the newest one's number
  std::optional<double> step_ms = {};       // it took
  std::optional<double> median_ms = {};     // of the newest 64
  std::vector<double> recent_ms = {};       // these, the oldest first
  std::optional<double> since_step_s = {};  // since the newest one's end
  std::optional<double> sent_mbps = {};     // of the job, its RDMA ports included
  std::optional<double> received_mbps = {};
  std::optional<double> retransmitted_percent = {};  // of the packets of the newest seconds
  std::optional<double> rtt_ms = {};                 // of the job's connections, the median
  std::optional<double> core_percent = {};           // the busiest one
  std::optional<double> gpu_percent = {};            // of the job's, the mean
  std::optional<double> stalled_s = {};              // since the last progress of a job that stands
  std::string trouble = {};                          // why nothing is known, or how old it is
};

// Of what the record holds now. `trouble`: why a damaged record cannot be read.
LiveNode live_node(record::Reader& reader, bool is_being_written);

}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct EnumNames<analysis::NodeState> {
  using S = analysis::NodeState;
  static constexpr std::string_view kWhat = "state of a node";
  static constexpr auto kNames = std::to_array<EnumName<S>>({{S::Running, "running"},
                                                             {S::Ended, "ended"},
                                                             {S::CutOff, "cut off"},
                                                             {S::Silent, "no answer"}});
};

template <>
struct Fields<analysis::LiveNode> {
  using N = analysis::LiveNode;
  static constexpr FieldList kList{
      field("node", &N::name, "name of the node in its record or its metrics"),
      field("state", &N::state, "state of chokepoint's recording"),
      field("command", &N::command, "command line of the job; null when read from metrics")
          .null_if_empty(),
      field("exit_status", &N::exit_status, "exit status, if the job ended"),
      field("elapsed_s", &N::elapsed_s, "since the job began").at_least(0),
      field("ranks", &N::ranks, "ranks on this node"),
      field("step_source", &N::step_source, "marks, output, collectives or traffic")
          .null_if_empty(),
      field("step", &N::step, "the newest step's number"),
      field("step_ms", &N::step_ms, "duration of the newest step").at_least(0),
      field("median_ms", &N::median_ms, "median duration of the newest 64 steps").at_least(0),
      field("recent_ms", &N::recent_ms, "durations of the newest 64 steps, the oldest first"),
      field("since_step_s", &N::since_step_s, "since the newest step's end").at_least(0),
      field("sent_mbps", &N::sent_mbps, "sent by the job, 10^6 bit/s").at_least(0),
      field("received_mbps", &N::received_mbps, "received by the job, 10^6 bit/s").at_least(0),
      field("retransmitted_percent", &N::retransmitted_percent,
            "share of recent packets that were retransmitted")
          .between(0, 100),
      field("rtt_ms", &N::rtt_ms, "median round trip of the job's connections").at_least(0),
      field("core_percent", &N::core_percent, "load of the busiest core").between(0, 100),
      field("gpu_percent", &N::gpu_percent, "mean load of the job's GPUs").between(0, 100),
      field("stalled_s", &N::stalled_s, "seconds since the last progress, where the job makes none")
          .at_least(0),
      field("trouble", &N::trouble, "why nothing is known of the node, or how old the values are")
          .null_if_empty()};
};

}  // namespace chokepoint
