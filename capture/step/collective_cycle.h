// Steps from the job's collectives: the shortest cycle in which their kinds and sizes come back. A
// step begins with the first collective of a cycle: the one after the longest pause. What comes
// before the first full cycles (the broadcast of parameters) belongs to no step.
//
// Each process group has a cycle of its own. Of those that carry a fair share of the bytes, the one
// with the longest period makes the steps: the layers of tensor parallelism repeat inside a step.
// Nothing is told before 400 collectives have passed, or a minute with 48 of them, so that a cycle
// inside the step is not taken for it; then all is told. Bounded memory. One thread.
#pragma once

#include <memory>

#include "base/record/samples.h"
#include "capture/step/step.h"

namespace chokepoint::capture::step {

class CollectiveCycle {
 public:
  CollectiveCycle();
  ~CollectiveCycle();

  // Nearly in the order in which they began: up to four places off. Reports each step once it is
  // over, and some later collectives have come.
  void take(const record::Collective& collective, const OnStep& on_step);
  // There will be no more.
  void finish(const OnStep& on_step);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace chokepoint::capture::step
