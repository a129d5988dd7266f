// What findings are made from, of a made-up run. Holds everything that a DiagnosisInput borrows.
#pragma once

#include "analysis/attribution/findings.h"

namespace chokepoint::analysis {

struct MadeScene {
  explicit MadeScene(const RunData& data, const DiagnoseOptions& given = {})
      : run(data), options(given) {}
  MadeScene(const MadeScene&) = delete;
  MadeScene& operator=(const MadeScene&) = delete;

  const RunData& run;
  DiagnoseOptions options;
  Clocks clocks = fit_clocks(run);
  StepLine steps = choose_steps(run, clocks);
  Phases phases = phases_of(run, clocks, steps);
  LimitTimeline limit_timeline = limit_timeline_of(run, clocks, phases.communicating);
  DiagnosisInput input{.run = run,
                       .options = options,
                       .clocks = clocks,
                       .steps = steps,
                       .phases = phases,
                       .limit_timeline = limit_timeline};
};

}  // namespace chokepoint::analysis
