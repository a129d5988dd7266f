// chokepoint probe collective: what collectives between ranks carry, over the library that training
// uses. One process a rank, started by a launcher or by this command itself; one of them leads and
// prints, all others are silent unless they fail.
#pragma once

#include <string>
#include <vector>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "probe/collective/backend.h"
#include "probe/collective/launch/leader.h"
#include "probe/collective/launch/rank_thread.h"
#include "probe/collective/launch/seat.h"
#include "probe/commands/collective_flags.h"
#include "probe/commands/collective_report.h"

namespace chokepoint::probe {

class ProbeCollectiveCommand final : public cli::Command {
 public:
  explicit ProbeCollectiveCommand(std::vector<collective::Backend> backends)
      : backends_(std::move(backends)) {}

  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  using Leader = collective::Leader;
  using RankPlacement = collective::RankPlacement;

  Result<cli::ExitCode> start_and_lead(const std::vector<std::string>& hosts, int interrupt,
                                       const cli::Context& context) const;
  Result<cli::ExitCode> take_seat(const RankPlacement& seat, int interrupt,
                                  const cli::Context& context) const;
  Result<cli::ExitCode> lead_as_rank_0(const RankPlacement& seat, collective::RankThread& rank,
                                       Leader& leader, const collective::Plan& plan,
                                       const cli::Context& context) const;
  Result<cli::ExitCode> follow(const RankPlacement& seat, collective::RankThread& rank,
                               int interrupt) const;

  CollectiveMeasured measured_of(collective::Led led, const collective::Plan& plan, int ranks,
                                 std::string launcher) const;
  Result<cli::ExitCode> show(const CollectiveMeasured& measured, const cli::Context& context) const;

  std::vector<collective::Backend> backends_;
  CollectiveFlags told_;
  baseline::Flags baseline_;
  cli::Json document_;
};

}  // namespace chokepoint::probe
