// chokepoint diagnose: where a run's time goes, what holds it back, and what to change.
#pragma once

#include <chrono>
#include <string>

#include "analysis/attribution/diagnose.h"
#include "base/cli/command.h"

namespace chokepoint::analysis {

// With --exit-code: is somebody named?
cli::ExitCode exit_code_of(const Verdict& verdict);

class DiagnoseCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<> check() const;
  Result<cli::ExitCode> once(cli::Context& context) const;
  cli::ExitCode code_of(const Diagnosis& diagnosis) const;

  std::string folder_;
  DiagnoseOptions options_;
  bool all_ = false;
  bool exit_code_ = false;
  bool follow_ = false;
  std::chrono::nanoseconds every_ = std::chrono::seconds(2);
};

}  // namespace chokepoint::analysis
