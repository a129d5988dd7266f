// chokepoint doctor: reads this host, judges it, says what to mend.
#pragma once

#include <string>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"

namespace chokepoint::probe {

class DoctorCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  std::string root_ = "/";
  baseline::Flags baseline_;
  bool all_ = false;
  bool summary_ = false;
  bool strict_ = false;
  bool exit_code_ = false;  // taken for the sake of scripts that give it to every command
};

}  // namespace chokepoint::probe
