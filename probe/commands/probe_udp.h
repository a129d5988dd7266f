// chokepoint probe udp: what a path carries over UDP, each way, and where the rest is lost.
#pragma once

#include <string>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "base/control/client.h"
#include "probe/commands/foreign_peer.h"
#include "probe/commands/udp_report.h"
#include "probe/udp/parameters.h"
#include "probe/udp/test.h"

namespace chokepoint::probe {

class ProbeUdpCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<udp::Parameters> parameters() const;
  Result<UdpMeasured> measure(udp::Test& test, const udp::Parameters& parameters,
                              double most_bits_per_s, const cli::Context& context) const;
  Result<> search(udp::Test& test, UdpMeasured& measured, double most_bits_per_s,
                  const cli::Context& context) const;
  Result<> run_for_the_result(udp::Test& test, UdpMeasured& measured,
                              const cli::Context& context) const;
  Result<cli::ExitCode> run_against(Foreign foreign, const udp::Parameters& wanted, int interrupt,
                                    cli::Json document, const cli::Context& context) const;
  Result<cli::ExitCode> show(const UdpMeasured& measured, const control::Client& client,
                             cli::Json document, const cli::Context& context) const;

  control::PeerFlags peer_;
  std::string program_ = "chokepoint";
  baseline::Flags baseline_;
  bool send_ = false;
  bool receive_ = false;
  bool both_ = false;
  std::int64_t streams_ = 1;
  std::chrono::nanoseconds time_ = std::chrono::seconds(10);
  std::chrono::nanoseconds interval_ = std::chrono::seconds(1);
  math::Rate rate_;
  bool unpaced_ = false;
  double loss_limit_ = 0.1;
  math::Bytes bytes_;
  std::int64_t dscp_ = -1;
  bool share_ = false;
};

}  // namespace chokepoint::probe
