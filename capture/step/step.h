// One step of the job, as one of its sources tells of it, on its way into the record. A value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/record/samples.h"

namespace chokepoint::capture::step {

struct Step {
  std::int64_t start_ns = 0;  // monotonic
  std::int64_t end_ns = 0;
  std::optional<std::int64_t> number = {};  // as the job counts; else counted here
  std::optional<int> rank = {};
  record::StepSource source = record::StepSource::Marks;
  std::optional<std::int64_t> samples = {};  // of training data, in all that are merged
  std::int64_t merged = 1;                   // several whose borders nobody told
  std::optional<std::int64_t> busy_ns = {};  // their own time together; else end_ns − start_ns
};

using OnStep = std::function<void(const Step& step)>;

}  // namespace chokepoint::capture::step
