// chokepoint export: a run's records for the tools that people use already.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "analysis/attribution/diagnose.h"
#include "base/cli/command.h"
#include "base/record/samples.h"

namespace chokepoint::analysis {

class ExportCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<> check(const cli::Context& context) const;
  std::optional<record::Span> wanted() const;

  std::string folder_;
  std::string to_;
  std::string output_;
  std::chrono::nanoseconds from_ = {};   // 0: from its beginning
  std::chrono::nanoseconds until_ = {};  // 0: to its end
  DiagnoseOptions options_;
};

}  // namespace chokepoint::analysis
