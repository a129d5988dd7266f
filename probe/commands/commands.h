// The commands that need a peer or this host alone: doctor, serve and the probes. Each is one
// source named like it; a long answer has a source of its own (*_page.cc) and a header between the
// two
// (*_report.h).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/cli/command.h"
#include "base/control/service.h"
#include "probe/collective/communicator.h"

namespace chokepoint::probe {

cli::CommandFactory doctor_command();

using ServiceFactory = std::function<std::unique_ptr<control::Service>()>;
// `others`: kinds of tests that are not the probes' own, offered beside them.
cli::CommandFactory serve_command(std::vector<ServiceFactory> others = {});

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

}  // namespace chokepoint::probe
