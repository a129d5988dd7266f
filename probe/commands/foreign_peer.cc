#include "probe/commands/foreign_peer.h"

#include "probe/iperf3/client.h"
#include "probe/iperf3/protocol.h"
#include "probe/nuttcp/client.h"
#include "probe/nuttcp/protocol.h"

namespace chokepoint::probe {
namespace {

// What left is nearly what arrived: a receiver without intervals is lent the sender's.
void lend_intervals(tcp::Trial& trial) {
  if (!trial.server.intervals.empty()) {
    return;
  }
  for (const tcp::IntervalMeasure& sent : trial.client.intervals) {
    if (sent.role == tcp::Role::Send) {
      trial.server.intervals.push_back({.role = tcp::Role::Receive,
                                        .start_s = sent.start_s,
                                        .end_s = sent.end_s,
                                        .bytes = sent.bytes});
    }
  }
}

Result<ForeignTrial> against_iperf3(const ForeignHost& host, const tcp::Parameters& parameters,
                                    const cli::Context& context, int interrupt,
                                    const tcp::Watcher& watcher) {
  Result<iperf3::TcpTest> test = iperf3::run_tcp({.peer = host.peer,
                                                  .family = host.family,
                                                  .socket = host.socket,
                                                  .root = context.root,
                                                  .interrupt = interrupt},
                                                 parameters, watcher);
  if (!test) {
    return std::unexpected(test.error());
  }
  return ForeignTrial{std::move(test->test), test->peer, "iperf3"};
}

Result<ForeignTrial> against_nuttcp(const ForeignHost& host, const tcp::Parameters& parameters,
                                    const cli::Context& context, int interrupt,
                                    const tcp::Watcher& watcher) {
  Result<nuttcp::TcpTest> test = nuttcp::run_tcp({.peer = host.peer,
                                                  .family = host.family,
                                                  .socket = host.socket,
                                                  .root = context.root,
                                                  .interrupt = interrupt},
                                                 parameters, watcher);
  if (!test) {
    return std::unexpected(test.error());
  }
  return ForeignTrial{std::move(test->test), test->peer, "nuttcp " + test->version.text()};
}

}  // namespace

std::vector<std::string> peer_programs() { return {"chokepoint", "iperf3", "nuttcp"}; }

Foreign foreign_named(const std::string& program) {
  if (program == "iperf3") {
    return Foreign::Iperf3;
  }
  return program == "nuttcp" ? Foreign::Nuttcp : Foreign::None;
}

Result<ForeignHost> foreign_host(Foreign foreign, const control::PeerFlags& peer,
                                 const cli::Context& context) {
  if (!peer.key_file.empty()) {
    return fail(ErrorKind::Usage, "", "--key-file", "iperf3 and nuttcp know no key");
  }
  control::PeerFlags flags = peer;
  if (flags.port == control::kPort) {
    flags.port = foreign == Foreign::Iperf3 ? iperf3::kDefaultPort : nuttcp::kControlPort;
  }
  TRY(const control::ClientOptions options, client_options(flags, context));
  return ForeignHost{.peer = options.peer, .family = options.family, .socket = options.socket};
}

cli::Json foreign_body(const control::PeerFlags& flags, const net::Endpoint& peer,
                       const std::string& software) {
  return {{"host", flags.host},
          {"address", peer.address.text()},
          {"family", net::name_of(peer.address.family())},
          {"port", peer.port},
          {"name", nullptr},
          {"software", software}};
}

Result<ForeignTrial> run_foreign(Foreign foreign, const ForeignHost& host,
                                 const tcp::Parameters& parameters, const cli::Context& context,
                                 int interrupt, const tcp::Watcher& watcher) {
  Result<ForeignTrial> done = foreign == Foreign::Iperf3
                                  ? against_iperf3(host, parameters, context, interrupt, watcher)
                                  : against_nuttcp(host, parameters, context, interrupt, watcher);
  if (done) {
    lend_intervals(done->trial);
  }
  return done;
}

}  // namespace chokepoint::probe
