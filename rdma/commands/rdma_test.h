// chokepoint rdma write, read, send, atomic: what two RDMA ports and the fabric between them carry,
// and how soon. One class, four commands.
#pragma once

#include <functional>
#include <memory>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "base/control/client.h"
#include "rdma/commands/test_flags.h"
#include "rdma/session/service.h"
#include "rdma/session/trial.h"

namespace chokepoint::rdma {

class RdmaTestCommand final : public cli::Command {
 public:
  RdmaTestCommand(Verb verb, session::OpenLibrary open) : verb_(verb), open_(std::move(open)) {}

  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<session::Trial> measure(control::Client& client, const session::Parameters& wanted,
                                 const session::PortWish& wish, int interrupt,
                                 const cli::Context& context) const;
  Result<cli::ExitCode> show(const session::Trial& trial, const std::string& peer,
                             cli::Json document, const cli::Context& context) const;
  // What was missed of the thresholds, in words.
  std::vector<std::string> missed(const session::Trial& trial) const;

  Verb verb_;
  session::OpenLibrary open_;
  TestFlags test_;
  control::PeerFlags peer_;
  baseline::Flags baseline_;
};

}  // namespace chokepoint::rdma
