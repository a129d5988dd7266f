// chokepoint report: a run as a page that an operator opens and a manager believes, as text for a
// terminal, or as Markdown for a ticket.
#pragma once

#include <string>
#include <vector>

#include "analysis/attribution/diagnose.h"
#include "base/cli/command.h"

namespace chokepoint::analysis {

class ReportCommand : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<> check(const cli::Context& context);
  Result<> check_files() const;
  Result<> report(cli::Context& context, const std::string& folder) const;
  std::string file_for(const std::string& folder) const;

  std::vector<std::string> folders_;
  std::string output_;
  std::string format_;
  DiagnoseOptions options_;
};

}  // namespace chokepoint::analysis
