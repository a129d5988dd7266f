// chokepoint mark: a mark from a training script, for the run that watches it.
#pragma once

#include <cstdint>
#include <string>

#include "base/cli/command.h"

namespace chokepoint::capture {

class MarkCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  std::string name_ = "step";
  std::int64_t number_ = -1;
  std::int64_t samples_ = -1;
  bool required_ = false;
};

}  // namespace chokepoint::capture
