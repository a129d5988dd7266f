// A way to share a model's training among ranks: what a step computes, and what it sends when.
// Each is a file of its own; all their traffic is real, their arithmetic is not.
//
// Whether a step is the last one is rank 0's decision. It travels with the data, as the first
// number of the first buffer, so that no rank waits for one that has ended.
#pragma once

#include <memory>

#include "scripts/train/trainer/group.h"
#include "scripts/train/trainer/settings.h"
#include "scripts/train/trainer/step_clock.h"

namespace chokepoint::trainer {

class Pattern {
 public:
  virtual ~Pattern() = default;
  // `is_last`: of rank 0; the others learn of it. Whether it was the last step.
  virtual bool step(StepClock& clock, bool is_last) = 0;
};

std::unique_ptr<Pattern> make_data_parallel(Group& group, const Settings& settings);
std::unique_ptr<Pattern> make_tensor_parallel(Group& group, const Settings& settings);
std::unique_ptr<Pattern> make_pipeline_parallel(Group& group, const Settings& settings);

// By its name; throws std::runtime_error where there is none of it.
std::unique_ptr<Pattern> make_pattern(Group& group, const Settings& settings);

// A third of computing is the forward pass, the rest the backward pass.
inline constexpr double kForward = 1.0 / 3;
inline constexpr double kBackward = 1 - kForward;

}  // namespace chokepoint::trainer
