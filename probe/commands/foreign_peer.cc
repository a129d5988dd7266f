#include "probe/commands/foreign_peer.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>

#include "base/cli/table.h"
#include "base/math/units.h"
#include "probe/iperf3/client.h"
#include "probe/iperf3/protocol.h"
#include "probe/nuttcp/client.h"
#include "probe/nuttcp/protocol.h"
#include "probe/quic/perf_client.h"

namespace chokepoint::probe {
namespace {

using udp::Direction;

// What was sent in an interval is nearly what arrived in it.
void use_sender_intervals(tcp::Trial& trial) {
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

std::uint64_t less(std::uint64_t all, std::uint64_t some) { return all > some ? all - some : 0; }

// `size`: bytes of a datagram.
udp::Outcome outcome_of(Direction direction, std::uint64_t sent, std::uint64_t received,
                        double duration_s, std::size_t size) {
  const auto bytes = static_cast<double>(size);
  udp::Outcome outcome{
      .direction = direction,
      .figures = {.duration_s = duration_s,
                  .throughput_mbps = math::mbps(static_cast<double>(received) * bytes, duration_s),
                  .offered_mbps = math::mbps(static_cast<double>(sent) * bytes, duration_s),
                  .bytes = received * size,
                  .packets_sent = sent,
                  .packets_received = received,
                  .lost = less(sent, received)}};
  if (sent > 0) {
    outcome.figures.loss_percent =
        math::kPercent * static_cast<double>(outcome.figures.lost) / static_cast<double>(sent);
  }
  return outcome;
}

// What the server reports of the streams that this end sends, or receives.
struct ServerCounts {
  std::uint64_t packets = 0;
  std::uint64_t lost = 0;
  double jitter_ms = 0;
};

ServerCounts counts_of(const iperf3::UdpTest& test, peer::Role own_role) {
  ServerCounts counts;
  int streams = 0;
  for (const peer::DatagramMeasure& own : test.measures) {
    const iperf3::StreamResult* theirs = test.server.find(iperf3::stream_id(own.index));
    if (own.role != own_role || theirs == nullptr) {
      continue;
    }
    counts.packets += static_cast<std::uint64_t>(theirs->packets);
    counts.lost += static_cast<std::uint64_t>(std::max(theirs->lost, std::int64_t{0}));
    counts.jitter_ms += theirs->jitter_s * 1e3;
    ++streams;
  }
  counts.jitter_ms = streams > 0 ? counts.jitter_ms / streams : 0;
  return counts;
}

udp::Outcome sent_outcome(const iperf3::UdpTest& test, std::size_t size) {
  const peer::DatagramMeasure own = sum_of(test.measures, peer::Role::Send);
  const ServerCounts theirs = counts_of(test, peer::Role::Send);
  udp::Outcome outcome = outcome_of(Direction::Send, own.packets, less(theirs.packets, theirs.lost),
                                    own.seconds, size);
  outcome.figures.jitter_ms = theirs.jitter_ms;
  return outcome;
}

udp::Outcome received_outcome(const iperf3::UdpTest& test, std::size_t size) {
  const peer::DatagramMeasure own = sum_of(test.measures, peer::Role::Receive);
  const ServerCounts theirs = counts_of(test, peer::Role::Receive);
  udp::Outcome outcome =
      outcome_of(Direction::Receive, theirs.packets, own.packets, own.seconds, size);
  outcome.figures.out_of_order = own.out_of_order;
  outcome.figures.duplicates = own.duplicates;
  outcome.figures.jitter_ms = own.jitter_ms;
  return outcome;
}

Result<ForeignUdp> run_iperf3(const ForeignHost& host, const ForeignUdpPlan& plan) {
  const udp::Parameters& asked = plan.parameters;
  const auto rounded_s = std::chrono::ceil<std::chrono::seconds>(asked.time).count();
  const iperf3::Parameters parameters{
      .udp = true,
      .direction = asked.direction,
      .time_s = static_cast<int>(rounded_s),
      .streams = asked.streams,
      .block_bytes = static_cast<int>(plan.packet_bytes),
      .rate_bits_per_s = static_cast<std::uint64_t>(asked.bits_per_s.value_or(0) / asked.streams),
      .traffic_class = plan.dscp ? std::optional(*plan.dscp << 2) : std::nullopt,
      .client_version = "3.12"};
  TRY(const iperf3::UdpTest test, iperf3::run_udp(host, parameters));
  ForeignUdp measured{
      .directions = {}, .peer = test.peer, .software = "iperf3", .interrupted = test.interrupted};
  if (asked.direction != Direction::Receive) {
    measured.directions.push_back(sent_outcome(test, plan.packet_bytes));
  }
  if (asked.direction != Direction::Send) {
    measured.directions.push_back(received_outcome(test, plan.packet_bytes));
  }
  return measured;
}

Result<ForeignUdp> run_nuttcp(const ForeignHost& host, const ForeignUdpPlan& plan) {
  const udp::Parameters& asked = plan.parameters;
  if (asked.direction == Direction::Both || asked.streams > 1) {
    return fail(ErrorKind::Usage, "", asked.streams > 1 ? "--streams" : "--both",
                "nuttcp's UDP is one stream, in one direction at a time");
  }
  const bool sends = asked.direction == Direction::Send;
  nuttcp::Parameters parameters{.sender = sends ? nuttcp::Sender::Client : nuttcp::Sender::Server,
                                .block_bytes = static_cast<int>(plan.packet_bytes),
                                .time_s = std::chrono::duration<double>(asked.time).count(),
                                .traffic_class = plan.dscp.value_or(0) << 2};
  if (asked.bits_per_s.value_or(0) > 0) {
    parameters.rate_kbits_per_s = static_cast<std::uint64_t>(std::llround(*asked.bits_per_s / 1e3));
  }
  TRY(const nuttcp::UdpTest test, nuttcp::run_udp(host, parameters));
  const std::uint64_t theirs = test.server.datagrams(parameters.block_bytes);
  const std::uint64_t own = test.measure.packets;
  return ForeignUdp{
      .directions = {outcome_of(asked.direction, sends ? own : theirs, sends ? theirs : own,
                                test.measure.seconds, plan.packet_bytes)},
      .peer = test.peer,
      .software = "nuttcp " + test.version.text(),
      .interrupted = test.interrupted};
}

std::vector<cli::Cell> row_of(const udp::Outcome& outcome, const std::string& software) {
  const auto count_text = [](const std::optional<std::uint64_t>& count) {
    return count ? std::to_string(*count) : "not reported";
  };
  const bool sends = outcome.direction == Direction::Send;
  const documents::UdpFigures& figures = outcome.figures;
  return {sends ? "to " + software : "from " + software,
          math::format_rate(figures.throughput_mbps * 1e6),
          math::format_rate(figures.offered_mbps * 1e6),
          fmt::format("{} of {} ({:.4f} %)", figures.lost, figures.packets_sent,
                      figures.loss_percent.value_or(0)),
          figures.jitter_ms ? math::format_ms(*figures.jitter_ms) : "not reported",
          count_text(figures.out_of_order),
          count_text(figures.duplicates)};
}

std::uint16_t port_of(Foreign foreign) {
  switch (foreign) {
    case Foreign::Iperf3:
      return iperf3::kDefaultPort;
    case Foreign::Perf:
      return quic::kPerfPort;
    default:
      return nuttcp::kControlPort;
  }
}

}  // namespace

std::vector<std::string> peer_programs() { return {"chokepoint", "iperf3", "nuttcp"}; }
std::vector<std::string> quic_peer_programs() { return {"chokepoint", "perf"}; }

Foreign foreign_named(const std::string& program) {
  if (program == "iperf3") {
    return Foreign::Iperf3;
  }
  if (program == "perf") {
    return Foreign::Perf;
  }
  return program == "nuttcp" ? Foreign::Nuttcp : Foreign::None;
}

Result<ForeignHost> foreign_host(Foreign foreign, const control::PeerFlags& peer, int interrupt,
                                 const cli::Context& context) {
  if (!peer.key_file.empty()) {
    return fail(ErrorKind::Usage, "", "--key-file",
                foreign == Foreign::Perf ? "QUIC's protocol perf knows no key"
                                         : "iperf3 and nuttcp know no key");
  }
  control::PeerFlags flags = peer;
  if (flags.port == control::kPort) {
    flags.port = port_of(foreign);
  }
  TRY(const control::ClientOptions options, client_options(flags, context));
  return ForeignHost{.peer = options.peer,
                     .family = options.family,
                     .socket = options.socket,
                     .root = context.root,
                     .interrupt = interrupt};
}

documents::Peer foreign_peer(const control::PeerFlags& flags, const net::Endpoint& peer,
                             const std::string& software) {
  return {.host = flags.host,
          .address = peer.address.text(),
          .family = peer.address.family(),
          .port = peer.port,
          .software = software};
}

Result<ForeignTrial> run_foreign(Foreign foreign, const ForeignHost& host,
                                 const tcp::Parameters& parameters, const tcp::Watcher& watcher) {
  ForeignTrial done;
  if (foreign == Foreign::Iperf3) {
    TRY(iperf3::TcpTest test, iperf3::run_tcp(host, parameters, watcher));
    done = {std::move(test.test), test.peer, "iperf3"};
  } else {
    TRY(nuttcp::TcpTest test, nuttcp::run_tcp(host, parameters, watcher));
    done = {std::move(test.test), test.peer, "nuttcp " + test.version.text()};
  }
  use_sender_intervals(done.trial);
  return done;
}

Result<ForeignUdp> run_foreign(Foreign foreign, const ForeignHost& host,
                               const ForeignUdpPlan& plan) {
  return foreign == Foreign::Iperf3 ? run_iperf3(host, plan) : run_nuttcp(host, plan);
}

void print_page(const cli::Context& context, const ForeignUdp& measured) {
  cli::Table table({{"", cli::Align::Left},
                    {"received", cli::Align::Right},
                    {"offered", cli::Align::Right},
                    {"lost", cli::Align::Right},
                    {"jitter", cli::Align::Right},
                    {"out of order", cli::Align::Right},
                    {"doubled", cli::Align::Right}});
  for (const udp::Outcome& outcome : measured.directions) {
    table.add(row_of(outcome, measured.software));
  }
  table.print(context.out, context.out_terminal);
}

}  // namespace chokepoint::probe
