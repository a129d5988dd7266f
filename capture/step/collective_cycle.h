// Steps from the job's collectives: the shortest cycle in which their kinds and sizes recur. A step
// begins with the first collective of a cycle: the one after the longest pause. Collectives before
// the first full cycles (the broadcast of parameters) belong to no step.
//
// Each process group has its own cycle. Of the groups with at least a tenth of the bytes, the one
// with the longest period makes the steps: the layers of tensor parallelism repeat inside a step.
// Of NCCL, what stays inside a host (NVLink) counts only for ranks of which nothing leaves it.
// Nothing is reported before 400 collectives have passed, or a minute with 48 of them, so that a
// cycle inside a step is not mistaken for the step; then all steps are reported. Bounded memory.
// One thread.
#pragma once

#include <memory>

#include "base/record/samples.h"
#include "capture/step/step.h"

namespace chokepoint::capture::step {

class CollectiveCycle {
 public:
  CollectiveCycle();
  ~CollectiveCycle();

  // In the order in which they began, give or take four places. Reports each step once it is over
  // and some later collectives have come.
  void take(const record::Collective& collective, const OnStep& on_step);
  // No more collectives will come.
  void finish(const OnStep& on_step);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace chokepoint::capture::step
