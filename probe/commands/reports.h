// What probes measured, and how each shows it: the rest of its document, and its page for people.
// One thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/checks/check.h"
#include "base/cli/context.h"
#include "base/cli/output.h"
#include "base/control/client.h"
#include "base/documents/pcie.h"
#include "base/documents/probe_latency.h"
#include "base/documents/probe_path.h"
#include "base/documents/probe_paths.h"
#include "base/documents/probe_quic.h"
#include "base/documents/probe_rpc.h"
#include "base/documents/probe_udp.h"
#include "base/net/address.h"
#include "base/sys/root.h"
#include "probe/latency/outcome.h"
#include "probe/path/exchange.h"
#include "probe/path/families.h"
#include "probe/path/outcome.h"
#include "probe/pcie/slots.h"
#include "probe/pcie/survey.h"
#include "probe/quic/outcome.h"
#include "probe/quic/test.h"
#include "probe/rpc/outcome.h"
#include "probe/rpc/test.h"
#include "probe/udp/outcome.h"
#include "probe/udp/search.h"

namespace chokepoint::probe {

// What 'chokepoint probe udp' measured and how it is shown (udp_page.cc): the document, the table
// for people, and the live lines. One thread.

struct UdpMeasured {
  udp::Parameters parameters = {};
  udp::RunPlan plan = {};
  udp::RunResult result = {};
  double max_loss = 0.001;  // a share of 1; more ends a trial of the search
  bool searched = false;
  bool only_trials = false;  // the search found no rate, or was interrupted
  int trials = 0;
  std::optional<udp::Trial> obstacle = {};
  std::optional<udp::ClockOffset> clock = {};  // the peer's less this host's
};

// Each direction with its verdict, and without delays that the clocks are too far apart to show.
std::vector<udp::Outcome> judge_all(const UdpMeasured& measured, const std::string& own,
                                    const std::string& peer);

// Without the peer. `bits_per_s`: 0 is as fast as it goes.
documents::ProbeUdp document_of(const udp::Parameters& parameters, std::size_t packet_bytes,
                                double bits_per_s, const std::vector<udp::Outcome>& directions);
documents::ProbeUdp document_of(const UdpMeasured& measured,
                                const std::vector<udp::Outcome>& directions);

void print_page(const cli::Context& context, const UdpMeasured& measured,
                const std::vector<udp::Outcome>& directions);

// Lines on standard error, on a terminal only: one per trial, one per interval.
class UdpLive {
 public:
  explicit UdpLive(const cli::Context& context);
  void show(const udp::Trial& trial, udp::TrialEnd end) const;
  void show(const udp::Live& live, udp::Direction direction, std::chrono::nanoseconds interval);

 private:
  void line(std::string_view arrow, double elapsed_s, const udp::LiveCounts& now,
            const udp::LiveCounts& before) const;

  const cli::Context& context_;
  bool visible_;
  std::int64_t shown_ = 0;  // intervals
  udp::Live last_ = {};
};

// What `probe latency` measured, and its page for people. Values and pure functions.

struct LatencyMeasured {
  documents::ProbeLatency document = {};
  latency::Idle idle = {};
  // By where the load went; `both`: both ways at once.
  std::optional<latency::Loaded> send = {};
  std::optional<latency::Loaded> receive = {};
  std::optional<latency::Loaded> both = {};
};

// Into the document what follows from the rest.
void add_figures(LatencyMeasured& measured);
void print_page(const cli::Context& context, const LatencyMeasured& measured);

// What 'chokepoint probe path' found and how it is shown (path_page.cc): the document
// chokepoint.probe.path/1, and for people the hops of both ways beside each other. One thread.

struct PathFindings {
  path::HostFacts host = {};
  path::Parameters parameters = {};
  path::FamilyOutcome ipv4 = {};
  path::FamilyOutcome ipv6 = {};
  std::optional<std::string> dual_stack_finding = {};

  const path::FamilyOutcome& of(net::Family family) const {
    return family == net::Family::Ipv4 ? ipv4 : ipv6;
  }
};

documents::ProbePath document_of(const PathFindings& found);

void print_page(const cli::Context& context, const PathFindings& found);

// The page of 'chokepoint probe paths' (paths_page.cc): what is wrong with which flows. One thread.

void print_page(const cli::Context& context, const documents::ProbePaths& shown);

// What 'chokepoint probe quic' answers: its document, its page for people, and the tests of TCP and
// UDP beside it.

struct QuicMeasured {
  quic::Trial trial = {};
  std::vector<quic::Outcome> directions = {};
};

// What TCP and UDP carry, into each direction's figures. After the QUIC test, which has ended.
Result<> run_beside(control::Client& client, const quic::Parameters& parameters,
                    const sys::Root& root, int interrupt, std::vector<quic::Outcome>& directions);

documents::ProbeQuic document_of(const QuicMeasured& measured, documents::Peer peer);
void print_page(const cli::Context& context, const QuicMeasured& measured);

// What 'chokepoint probe rpc' answers, and its page for people.

struct RpcMeasured {
  rpc::Parameters parameters = {};
  documents::ProbeRpc document = {};
  // nullopt where the peer was given as an address.
  std::optional<path::HostFacts> name = {};
};

void print_page(const cli::Context& context, const RpcMeasured& measured);

// What 'chokepoint probe pcie' measured and how it is shown (pcie_page.cc): the document
// chokepoint.pcie/1, and the tables for people. One thread.

struct PcieShown {
  pcie::Slots slots = {};
  std::optional<pcie::Measured> measured = {};  // nullopt if no copies were asked for
  checks::Checks checks = {};
};

documents::Pcie document_of(const PcieShown& shown);

// `all`: every check in full, also those that passed.
void print_page(const cli::Context& context, const PcieShown& shown, bool all);

}  // namespace chokepoint::probe
