// chokepoint compare: many runs side by side, and what differs between them by more than noise.
#pragma once

#include <string>
#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/commands/compare_output.h"
#include "analysis/commands/compare_views.h"
#include "analysis/compare/compare.h"
#include "base/cli/command.h"

namespace chokepoint::analysis {

class CompareCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<CompareOptions> options(std::vector<std::string>& folders) const;
  Result<Shown> shown(cli::Context& context) const;
  Result<std::string> written(const cli::Context& context, Form form, const Shown& shown) const;
  Result<> put(cli::Context& context, Form form, const Shown& shown) const;

  std::vector<std::string> folders_;
  std::string by_;
  std::string baseline_;
  std::string metric_;
  std::string show_;
  std::string bars_;
  std::string sort_;
  bool is_reversed_ = false;
  double least_percent_ = 1;
  std::string samples_label_ = "samples_per_step";
  std::string format_;
  std::string file_;
  bool exit_code_ = false;
  DiagnoseOptions judging_;
};

}  // namespace chokepoint::analysis
