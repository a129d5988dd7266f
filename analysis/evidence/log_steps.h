// How long steps took, by what a job printed of them: the duration in the line, or the time at its
// begin, of the forms that `run` recognises (base/steps/line_forms.h).
//
//   iteration 300/ 5000 | … | elapsed time per iteration (ms): 412.3 | …        Megatron-LM
//   steps: 10 loss: 2.31 iter time (s): 0.412 samples/sec: …                   DeepSpeed
//   Epoch: [0][  10/5005]  Time  0.412 ( 0.433)  Data …                        PyTorch's ImageNet
//   iter 10: loss 2.31, time 412.33ms                                          and most others
//   2026-11-29 12:34:56,789 step 17 …                                          by the clock
//    40%|████ | 20/50 [00:21<00:32, 1.08s/it]                                  tqdm, by its clock
//
// Of several things that are counted, and of several ranks, what has most lines is used.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/evidence/tool_file.h"
#include "base/steps/line_forms.h"

namespace chokepoint::analysis {

struct CountedLine {
  std::uint64_t series = 0;
  std::int64_t number = 0;
  std::optional<double> seconds = {};       // of a step
  std::optional<std::int64_t> bar_ns = {};  // since a bar began, in whole seconds
};

class LogSteps {
 public:
  LogSteps();
  ~LogSteps();

  // Nothing of a line that counts no step.
  std::optional<CountedLine> parse(std::string_view line) const;
  void add(const CountedLine& step, std::optional<std::int64_t> rank, std::int64_t in_year_ns,
           std::uint64_t line);
  // Empty where fewer than kMinPrinted times are known.
  std::vector<PrintedSteps> take();

 private:
  class Durations;
  class Sequence;

  std::unique_ptr<steps::LineForms> forms_;
  std::unique_ptr<Durations> durations_;
  std::map<std::pair<std::uint64_t, std::int64_t>, Sequence> sequences_;  // by series and rank
};

}  // namespace chokepoint::analysis
