// chokepoint record show: what a run's record holds.
#pragma once

#include <string>

#include "base/cli/command.h"

namespace chokepoint::analysis {

class RecordShowCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  std::string folder_;
};

}  // namespace chokepoint::analysis
