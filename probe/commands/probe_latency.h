// chokepoint probe latency: how long small messages take, idle and while the path is filled.
#pragma once

#include <string>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "base/control/client.h"
#include "probe/commands/latency_report.h"
#include "probe/latency/test.h"

namespace chokepoint::probe {

class ProbeLatencyCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<> check() const;
  std::chrono::nanoseconds whole_time() const;
  Result<LatencyMeasured> measure(const latency::Test& test, int interrupt,
                                  const cli::Context& context) const;
  Result<> measure_idle(latency::Prober& prober, LatencyMeasured& measured, int interrupt,
                        const cli::Context& context) const;
  Result<> measure_loaded(latency::Prober& prober, LatencyMeasured& measured,
                          tcp::Direction direction, int interrupt,
                          const cli::Context& context) const;
  Result<cli::ExitCode> show(const LatencyMeasured& measured, const control::Client& client,
                             cli::Json document, const cli::Context& context) const;

  control::PeerFlags peer_;
  baseline::Flags baseline_;
  std::chrono::nanoseconds idle_ = std::chrono::seconds(3);
  std::chrono::nanoseconds time_ = std::chrono::seconds(12);
  std::chrono::nanoseconds gap_ = std::chrono::milliseconds(10);
  std::int64_t connections_ = 16;
  std::string congestion_;
  bool idle_only_ = false;
  bool no_udp_ = false;
};

}  // namespace chokepoint::probe
