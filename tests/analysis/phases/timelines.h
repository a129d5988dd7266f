// Timelines that never were, for the tests of analysis/phases: times in milliseconds of the common
// clock, and every node's clock is the common one.
//
//   Exchanges exchanges{{all_reduce(0, 0, 100, 150)}, {all_reduce(1, 0, 130, 150)}};
//
//   TimelineRun run(2);
//   const std::int64_t flow = run.connect(0, 1);
//   run.add(0, reduced({.number = 0, .ready_ms = 100, .peer_ms = 130, .end_ms = 150}, flow));
//
// Values.
#pragma once

#include "analysis/phases/meetings.h"
#include "analysis/phases/steps.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

constexpr std::int64_t ms_ns(double ms) { return static_cast<std::int64_t>(ms * 1e6); }

inline Span span_ms(double from, double to) { return {ms_ns(from), ms_ns(to)}; }

// Steps of the same length, one after the other.
inline Spans steps_ms(int count, double length, double from = 0) {
  Spans steps;
  for (int step = 0; step < count; ++step) {
    steps.push_back(span_ms(from + step * length, from + (step + 1) * length));
  }
  return steps;
}

// A rank's part in an all-reduce; others come by `all`, unknown: when itself does.
inline Exchange all_reduce(std::size_t node, std::int64_t number, double ready, double end,
                           double bytes = 1e6, double all = 0) {
  return {.node = node,
          .kind = record::CollectiveKind::AllReduce,
          .number = number,
          .bytes = bytes,
          .own_ready_ns = ms_ns(ready),
          .all_ready_ns = ms_ns(std::max(ready, all)),
          .end_ns = ms_ns(end)};
}

struct MessagePart {
  std::size_t node = 0;
  std::int64_t number = 0;
  std::int64_t connection = 0;
  double ready = 0;
  double end = 0;
  double bytes = 1e6;
};

inline Exchange message(record::CollectiveKind kind, const MessagePart& part) {
  return {.node = part.node,
          .kind = kind,
          .number = part.number,
          .connection = part.connection,
          .bytes = part.bytes,
          .own_ready_ns = ms_ns(part.ready),
          .all_ready_ns = ms_ns(part.ready),
          .end_ns = ms_ns(part.end)};
}

inline Exchange sent(const MessagePart& part) {
  return message(record::CollectiveKind::Send, part);
}

inline Exchange received(const MessagePart& part) {
  return message(record::CollectiveKind::Receive, part);
}

struct RowPlan {
  record::CollectiveKind kind = record::CollectiveKind::AllReduce;
  std::int64_t number = 0;
  std::int64_t communicator = 0;
  double ready_ms = 0;
  double peer_ms = 0;
  double end_ms = 0;
  std::int64_t bytes = 1'000'000;
};

// A row of a record.
inline record::Collective row(const RowPlan& plan, record::Figure flow = {}) {
  record::Collective row{.start_ns = ms_ns(plan.ready_ms), .end_ns = ms_ns(plan.end_ms)};
  row.kind = plan.kind;
  row.number = plan.number;
  row.communicator = plan.communicator;
  row.bytes = plan.bytes;
  row.own_ready_ns = ms_ns(plan.ready_ms);
  row.peer_ready_ns = ms_ns(plan.peer_ms);
  row.last_data_ns = ms_ns(plan.end_ms);
  row.flow = flow;
  return row;
}

class TimelineRun {
 public:
  explicit TimelineRun(std::size_t nodes) {
    data.nodes.resize(nodes);
    clocks.nodes.resize(nodes);
    for (NodeData& node : data.nodes) {
      node.is_complete = true;
    }
  }

  // The id of the flow in both nodes' records; the connection's place is ids - 1.
  std::int64_t connect(std::size_t a, std::size_t b) {
    const auto id = static_cast<std::int64_t>(data.connections.size()) + 1;
    Connection connection;
    for (const std::size_t side : {0U, 1U}) {
      NodeData& node = data.nodes[side == 0 ? a : b];
      connection.ends.at(side) = FlowPlace{side == 0 ? a : b, node.flows.size()};
      node.flows.emplace_back().row.id = id;
    }
    data.connections.push_back(connection);
    return id;
  }

  // What the node saw of the connection with this id.
  FlowData& flow(std::size_t node, std::int64_t id) {
    const Connection& connection = data.connections.at(static_cast<std::size_t>(id - 1));
    const auto& end = connection.ends[0]->node == node ? connection.ends[0] : connection.ends[1];
    return data.nodes[node].flows[end->flow];
  }

  void add(std::size_t node, const record::Collective& row) {
    data.nodes[node].collectives.push_back(row);
  }

  void add_steps(std::size_t node, const Spans& steps, record::Figure rank = {},
                 record::StepSource source = record::StepSource::Marks) {
    for (const Span& span : steps) {
      record::Step step{.start_ns = span.start_ns, .end_ns = span.end_ns};
      step.rank = rank;
      step.source = source;
      data.nodes[node].steps.push_back(step);
    }
  }

  RunData data = {};
  Clocks clocks = {};
};

}  // namespace chokepoint::analysis
