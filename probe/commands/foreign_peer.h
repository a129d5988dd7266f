// --peer-program: probe tcp and probe udp against iperf3 and nuttcp servers, and probe quic against
// those of its protocol perf, reported in the same terms as against 'chokepoint serve'. What these
// programs do not report is null in the document and "not reported" on the page. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/cli/output.h"
#include "base/control/client.h"
#include "base/documents/peer.h"
#include "probe/peer/dial.h"
#include "probe/tcp/trial.h"
#include "probe/udp/outcome.h"
#include "probe/udp/parameters.h"

namespace chokepoint::probe {

enum class Foreign { None, Iperf3, Nuttcp, Perf };

std::vector<std::string> peer_programs();       // values of --peer-program, of TCP and UDP
std::vector<std::string> quic_peer_programs();  // of QUIC
Foreign foreign_named(const std::string& program);

using ForeignHost = peer::ClientOptions;

// The default port is the program's. A key is a usage error: none of them knows any.
Result<ForeignHost> foreign_host(Foreign foreign, const control::PeerFlags& peer, int interrupt,
                                 const cli::Context& context);

documents::Peer foreign_peer(const control::PeerFlags& flags, const net::Endpoint& peer,
                             const std::string& software);

struct ForeignTrial {
  tcp::Trial trial;
  net::Endpoint peer;
  std::string software;  // "iperf3": it does not report its version; "nuttcp 6.1.2"
};

// If the receiver reports no intervals, the sender's are used.
Result<ForeignTrial> run_foreign(Foreign foreign, const ForeignHost& host,
                                 const tcp::Parameters& parameters, const tcp::Watcher& watcher);

struct ForeignUdpPlan {
  udp::Parameters parameters = {};
  std::size_t packet_bytes = 0;
  std::optional<int> dscp = {};
};

struct ForeignUdp {
  std::vector<udp::Outcome> directions;
  net::Endpoint peer;
  std::string software;
  bool interrupted = false;
};

Result<ForeignUdp> run_foreign(Foreign foreign, const ForeignHost& host,
                               const ForeignUdpPlan& plan);

void print_page(const cli::Context& context, const ForeignUdp& measured);

}  // namespace chokepoint::probe
