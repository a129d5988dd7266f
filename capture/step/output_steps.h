// Steps from what the job prints. Lines are put together from pieces, carriage returns of progress
// bars included, and matched: by the user's expression, or by those that know the common forms of
// PyTorch examples, Lightning, HF Trainer and ColossalAI (tqdm) once two lines of one form have
// come. Binary, floods and endless lines cost bounded time and memory. One thread.
//
//   named groups of an expression: (?P<step>…) its number, (?P<samples>…) what was processed since
//   the line before, (?P<seconds>…) or (?P<ms>…) its own duration, (?P<sample_count>…) samples
//   since the epoch began; without (?P<step>…) each line is a step
//
// Where several things are counted, bars of downloads and evaluations among them, the one that has
// most lines is believed, and what is said of a step is said once.
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
  // Empty: the forms that are known. An expression that cannot be understood is the user's mistake.
  // `samples_per_step` makes steps of lines that count samples.
  static Result<std::unique_ptr<OutputSteps>> make(
      const std::string& expression, std::optional<std::int64_t> samples_per_step = std::nullopt);
  virtual ~OutputSteps() = default;

  // `stream` tells apart what must not be put together to lines: out, err.
  virtual void take(std::int64_t t_ns, int stream, std::string_view bytes,
                    const OnStep& on_step) = 0;
};

}  // namespace chokepoint::capture::step
