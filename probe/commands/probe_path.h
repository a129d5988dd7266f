// chokepoint probe path: which way packets go, there and back, and how large they may be.
#pragma once

#include <chrono>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "base/control/client.h"
#include "probe/commands/path_report.h"
#include "probe/path/outcome.h"

namespace chokepoint::probe {

class ProbePathCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  path::LookOptions look_options(const control::ClientOptions& peer, int interrupt) const;
  Result<PathFindings> find(const cli::Context& context, int interrupt) const;
  Result<> show_and_keep(const PathFindings& found, cli::Json document,
                         const cli::Context& context) const;

  control::PeerFlags peer_;
  baseline::Flags baseline_;
  bool udp_ = false;
  bool tcp_ = false;
  std::int64_t to_port_ = 0;
  std::int64_t max_hops_ = 30;
  std::int64_t probes_ = 3;
  std::chrono::nanoseconds time_ = std::chrono::seconds(30);
  bool no_mtu_ = false;
  bool alone_ = false;
};

}  // namespace chokepoint::probe
