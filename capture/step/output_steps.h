// Steps from what the job prints. Lines are assembled from pieces, carriage returns of progress
// bars included, and matched: by the user's expression, or by known forms (PyTorch examples,
// Lightning, HF Trainer, ColossalAI and others) once two lines of one form have come. Binary
// output, floods and endless lines cost bounded time and memory. One thread.
//
//   named groups of an expression: (?P<step>…) number of the step, (?P<samples>…) samples processed
//   since the line before, (?P<seconds>…) or (?P<ms>…) the step's duration, (?P<sample_count>…)
//   samples since the epoch began; without (?P<step>…) each line is a step
//
// If the output counts several things, such as downloads and evaluations, the one with most lines
// is used; no span of time is reported twice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/sys/error.h"
#include "capture/step/step.h"

namespace chokepoint::capture::step {

class OutputSteps {
 public:
  // Empty: the known forms. A malformed expression is the user's mistake. `samples_per_step` turns
  // lines that count samples into steps.
  static Result<std::unique_ptr<OutputSteps>> make(
      const std::string& expression, std::optional<std::int64_t> samples_per_step = std::nullopt);
  virtual ~OutputSteps() = default;

  // `stream`: pieces of different streams (out, err) never make one line.
  virtual void take(std::int64_t t_ns, int stream, std::string_view bytes,
                    const OnStep& on_step) = 0;
};

}  // namespace chokepoint::capture::step
