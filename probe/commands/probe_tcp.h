// chokepoint probe tcp: what a path carries over TCP, each way, and what limits it.
#pragma once

#include <string>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "base/control/client.h"
#include "probe/commands/foreign_peer.h"
#include "probe/tcp/parameters.h"
#include "probe/tcp/trial.h"

namespace chokepoint::probe {

class ProbeTcpCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<tcp::Parameters> parameters() const;
  // What depends on the server's limits.
  void fit(tcp::Parameters& wanted, const control::Limits& limits,
           const cli::Context& context) const;
  Result<cli::ExitCode> run_against(Foreign foreign, const tcp::Parameters& wanted, int interrupt,
                                    cli::Json document, const cli::Context& context) const;
  // `document` tells of the peer already.
  Result<cli::ExitCode> show(const tcp::Trial& test, const std::string& peer, cli::Json document,
                             const cli::Context& context) const;

  control::PeerFlags peer_;
  std::string program_ = "chokepoint";
  baseline::Flags baseline_;
  bool send_ = false;
  bool receive_ = false;
  bool both_ = false;
  std::int64_t streams_ = 1;
  std::chrono::nanoseconds time_{0};
  std::chrono::nanoseconds omit_{0};
  std::chrono::nanoseconds interval_ = std::chrono::seconds(1);
  math::Bytes bytes_;
  std::string congestion_;
  std::int64_t mss_ = 0;
  math::Bytes window_;
  math::Rate pace_;
  std::int64_t dscp_ = -1;
  std::string zero_copy_ = "auto";
  bool share_ = false;
};

}  // namespace chokepoint::probe
