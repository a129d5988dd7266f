// How the result of an RDMA test is shown: the figures of a round, the document
// (rdma_test_report.cc) and the page (rdma_test_page.cc); and a sweep over flow labels (--flows),
// which rdma_flows.cc runs and shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/cli/command.h"
#include "base/cli/context.h"
#include "base/cli/output.h"
#include "base/control/client.h"
#include "base/documents/rdma.h"
#include "base/documents/rdma_flows.h"
#include "measure/baseline/baseline.h"
#include "rdma/fabric/judgement.h"
#include "rdma/session/flow_sweep.h"
#include "rdma/session/service.h"
#include "rdma/session/trial.h"

namespace chokepoint::rdma {

// Both ways: the sum. Where messages may be lost: what arrived, if the peer counts that. Without a
// ceiling.
documents::RdmaFigures figures_of(const session::Round& round);

// What the line carries of messages' bytes besides the headers of each packet, in 10^6 bit/s.
// nullopt if the rate is unknown, or in a latency test.
std::optional<double> ceiling_mbps(const session::Trial& trial, std::uint32_t message_bytes);

// All but the peer and the thresholds that were missed.
documents::Rdma document_of(const session::Trial& trial, const fabric::Judgement& fabric);

void print_page(const cli::Context& context, const session::Trial& trial,
                const fabric::Judgement& fabric, const std::string& peer);

void print_page(const cli::Context& context, const documents::RdmaFlows& shown);

struct FlowsAsked {
  session::Parameters test = {};  // each of them
  session::PortRequest wish = {};
  int flows = 0;
};

// Runs the sweep over a connection to the server for each test, and shows it.
Result<cli::ExitCode> run_flows(const FlowsAsked& asked, const control::PeerFlags& peer,
                                const baseline::Flags& baseline, const session::OpenLibrary& open,
                                const cli::Context& context);

}  // namespace chokepoint::rdma
