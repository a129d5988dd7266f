// Every kind of probe, in the order of the help: its command and, where it needs a peer, the
// service that `chokepoint serve` offers. A new kind declares its command here and stands in the
// two lists of kinds.cc.
#pragma once

#include <string>
#include <vector>

#include "base/cli/command.h"
#include "base/control/service.h"
#include "probe/collective/communicator.h"

namespace chokepoint::probe {

cli::CommandFactory tcp_command();
cli::CommandFactory udp_command();
cli::CommandFactory quic_command();
cli::CommandFactory rpc_command();
cli::CommandFactory latency_command();
cli::CommandFactory path_command();
cli::CommandFactory paths_command();
cli::CommandFactory pcie_command();
cli::CommandFactory processor_command();
cli::CommandFactory storage_command();
cli::CommandFactory collective_command(std::vector<collective::Backend> backends);

cli::Registry kind_commands(std::vector<collective::Backend> backends);

struct ServiceContext {
  std::string program = {};  // this one, with its version
  // Whether a service may connect to other servers that a client names.
  bool may_call_others = false;
};

// Those too whose library is not on this host.
control::Services kind_services(const ServiceContext& context);

}  // namespace chokepoint::probe
