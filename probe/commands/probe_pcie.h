// chokepoint probe pcie: what the slots of GPUs and NICs carry, measured where it can be.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "probe/commands/pcie_report.h"

namespace chokepoint::probe {

class ProbePcieCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<> check() const;
  Result<std::optional<pcie::Measured>> measure(const cli::Context& context, int interrupt) const;
  Result<cli::ExitCode> show(const PcieShown& shown, cli::Json document,
                             const cli::Context& context) const;

  std::string root_ = "/";
  baseline::Flags baseline_;
  std::vector<std::string> gpus_;
  math::Bytes bytes_{std::uint64_t{512} << 20};
  std::chrono::nanoseconds time_ = std::chrono::milliseconds(500);
  double at_least_ = 0;
  bool no_copies_ = false;
  bool no_peers_ = false;
  bool all_ = false;
  bool exit_code_ = false;
};

}  // namespace chokepoint::probe
