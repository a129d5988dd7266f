// chokepoint rdma devices: this host's RDMA devices, and what is wrong with them.
#pragma once

#include <string>

#include "base/cli/command.h"

namespace chokepoint::rdma {

class DevicesCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  std::string device_;
  std::string root_ = "/";
  bool all_ = false;
  bool exit_code_ = false;
};

}  // namespace chokepoint::rdma
