// A pipeline of which every time is known: each stage takes the micro-batches forward one after the
// other, the last turns each round at once, and gradients come back the same way.
//
//   stage 0   F0 F1 F2 ················ B0 ·· B1 ·· B2
//   stage 1      F0 F1 F2 ········ B0 ·· B1 ·· B2
//   stage 2         F0B0 F1B1 F2B2
//
// A stage computes one thing at a time, and asks for the next batch when it is free; data moves
// from when both ends are ready. Values.
#pragma once

#include <algorithm>

#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {

struct PipelinePlan {
  std::size_t stages = 3;
  int steps = 12;
  int batches = 4;
  double forward_ms = 10;
  double backward_ms = 20;
  double message_ms = 1;
  std::size_t late_stage = 99;
  double late_ms = 0;  // before the first batch that the stage sends on, in every third step
  int late_steps() const { return steps / 3; }
};

class PipelineMaker {
 public:
  explicit PipelineMaker(const PipelinePlan& plan) : plan_(plan), exchanges_(plan.stages) {}

  Exchanges make(Spans& steps) {
    double at = 1000;
    for (int step = 0; step < plan_.steps; ++step) {
      const double end = one_step(at, plan_.late_ms > 0 && step % 3 == 2);
      steps.push_back(span_ms(at, end));
      at = end;
    }
    for (auto& of_node : exchanges_) {
      std::ranges::sort(of_node, {}, &Exchange::own_ready_ns);
    }
    return exchanges_;
  }

 private:
  // Over the connection between a stage and the next; its end.
  double send(std::size_t from, std::size_t to, int batch, double ready, double receiver_ready) {
    const auto connection = static_cast<std::int64_t>(std::min(from, to));
    const double both = std::max(ready, receiver_ready);
    const std::int64_t number = batch * 2 + (from > to ? 1 : 0);
    const MessagePart part{
        .number = number, .connection = connection, .end = both + plan_.message_ms};
    Exchange gone = sent(part);
    Exchange got = received(part);
    gone.node = from;
    gone.own_ready_ns = ms_ns(ready);
    got.node = to;
    got.own_ready_ns = ms_ns(receiver_ready);
    gone.all_ready_ns = got.all_ready_ns = ms_ns(both);
    exchanges_[from].push_back(gone);
    exchanges_[to].push_back(got);
    return part.end;
  }

  // Its end.
  double one_step(double at, bool is_late) {
    const std::size_t last = plan_.stages - 1;
    std::vector<double> free(plan_.stages, at);
    std::vector<double> ready(static_cast<std::size_t>(plan_.batches), at);
    for (std::size_t stage = 0; stage <= last; ++stage) {
      for (int batch = 0; batch < plan_.batches; ++batch) {
        double& of_batch = ready[static_cast<std::size_t>(batch)];
        const double came =
            stage == 0 ? free[0] : send(stage - 1, stage, batch, of_batch, free[stage]);
        const bool is_held = is_late && stage == plan_.late_stage && batch == 0;
        free[stage] = came + plan_.forward_ms + (is_held ? plan_.late_ms : 0) +
                      (stage == last ? plan_.backward_ms : 0);
        of_batch = free[stage];
      }
    }
    for (std::size_t stage = last; stage-- > 0;) {
      for (int batch = 0; batch < plan_.batches; ++batch) {
        double& of_batch = ready[static_cast<std::size_t>(batch)];
        free[stage] = send(stage + 1, stage, batch, of_batch, free[stage]) + plan_.backward_ms;
        of_batch = free[stage];
      }
    }
    return free[0];
  }

  PipelinePlan plan_;
  Exchanges exchanges_;
};

inline Exchanges pipeline(const PipelinePlan& plan) {
  Spans steps;
  return PipelineMaker(plan).make(steps);
}

inline Spans pipeline_steps(const PipelinePlan& plan) {
  Spans steps;
  PipelineMaker(plan).make(steps);
  return steps;
}

inline double pipeline_step_ms(const PipelinePlan& plan) {
  return static_cast<double>(length_ns(pipeline_steps(plan))) / 1e6 / plan.steps;
}

}  // namespace chokepoint::analysis
