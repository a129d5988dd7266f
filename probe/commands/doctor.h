// chokepoint doctor: reads this host, judges it, says what to mend.
#pragma once

#include <string>

#include "base/cli/command.h"
#include "probe/commands/baseline.h"

namespace chokepoint::probe {

class DoctorCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  std::string root_ = "/";
  BaselineFlags baseline_;
  bool all_ = false;
  bool strict_ = false;
  bool exit_code_ = false;  // taken for the sake of scripts that give it to every command
};

}  // namespace chokepoint::probe
