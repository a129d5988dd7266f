// chokepoint predict: what a step would take on another network, or with other ranks, and what that
// is worth.
#pragma once

#include "analysis/commands/predict_flags.h"
#include "analysis/commands/predict_views.h"
#include "base/cli/command.h"

namespace chokepoint::analysis {

class PredictCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<JobProfile> profile(Target& target) const;
  Result<> choose_link(JobProfile& profile, Predicted& predicted) const;

  PredictFlags told_;
};

}  // namespace chokepoint::analysis
