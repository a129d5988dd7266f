#include "probe/commands/foreign_udp.h"

#include <algorithm>
#include <cmath>

#include "probe/iperf3/client.h"
#include "probe/iperf3/protocol.h"
#include "probe/nuttcp/client.h"

namespace chokepoint::probe {
namespace {

using udp::Direction;

double mbps(double bytes, double duration_s) {
  return duration_s > 0 ? bytes * 8 / duration_s / 1e6 : 0;
}

std::uint64_t less(std::uint64_t all, std::uint64_t some) { return all > some ? all - some : 0; }

// From what is known of the two ends; `size` is a datagram's.
ForeignUdpOutcome outcome_of(Direction direction, std::uint64_t sent, std::uint64_t received,
                             double duration_s, std::size_t size) {
  const auto bytes = static_cast<double>(size);
  return {.direction = direction,
          .duration_s = duration_s,
          .offered_mbps = mbps(static_cast<double>(sent) * bytes, duration_s),
          .throughput_mbps = mbps(static_cast<double>(received) * bytes, duration_s),
          .bytes = received * size,
          .packets_sent = sent,
          .packets_received = received,
          .lost = less(sent, received)};
}

void add_own(ForeignUdpOutcome& outcome, const peer::DatagramMeasure& received) {
  outcome.out_of_order = received.out_of_order;
  outcome.duplicates = received.duplicates;
  outcome.jitter_ms = received.jitter_ms;
}

// What the server says of the streams that this end sends, or receives.
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

ForeignUdpOutcome sent_outcome(const iperf3::UdpTest& test, std::size_t size) {
  const peer::DatagramMeasure own = sum_of(test.measures, peer::Role::Send);
  const ServerCounts theirs = counts_of(test, peer::Role::Send);
  ForeignUdpOutcome outcome = outcome_of(Direction::Send, own.packets,
                                         less(theirs.packets, theirs.lost), own.seconds, size);
  outcome.jitter_ms = theirs.jitter_ms;
  return outcome;
}

ForeignUdpOutcome received_outcome(const iperf3::UdpTest& test, std::size_t size) {
  const peer::DatagramMeasure own = sum_of(test.measures, peer::Role::Receive);
  const ServerCounts theirs = counts_of(test, peer::Role::Receive);
  ForeignUdpOutcome outcome =
      outcome_of(Direction::Receive, theirs.packets, own.packets, own.seconds, size);
  add_own(outcome, own);
  return outcome;
}

iperf3::Way way_of(Direction direction) {
  switch (direction) {
    case Direction::Send:
      return iperf3::Way::Forward;
    case Direction::Receive:
      return iperf3::Way::Reverse;
    case Direction::Both:
      return iperf3::Way::Both;
  }
  return iperf3::Way::Forward;
}

Result<ForeignUdp> run_iperf3(const ForeignHost& host, const ForeignUdpPlan& plan, int interrupt) {
  const udp::Parameters& asked = plan.parameters;
  const auto rounded_s = std::chrono::ceil<std::chrono::seconds>(asked.time).count();
  const iperf3::Parameters parameters{
      .transport = iperf3::Transport::Udp,
      .way = way_of(asked.direction),
      .time_s = static_cast<int>(rounded_s),
      .streams = asked.streams,
      .block_bytes = static_cast<int>(plan.packet_bytes),
      .rate_bits_per_s = static_cast<std::uint64_t>(asked.bits_per_s.value_or(0) / asked.streams),
      .traffic_class = plan.dscp ? std::optional(*plan.dscp << 2) : std::nullopt,
      .client_version = "3.12"};
  const Result<iperf3::UdpTest> test = iperf3::run_udp(
      {.peer = host.peer, .family = host.family, .socket = host.socket, .interrupt = interrupt},
      parameters, [](const peer::DatagramInterval&) {});
  if (!test) {
    return std::unexpected(test.error());
  }
  ForeignUdp measured{
      .directions = {}, .peer = test->peer, .software = "iperf3", .interrupted = test->interrupted};
  if (asked.direction != Direction::Receive) {
    measured.directions.push_back(sent_outcome(*test, plan.packet_bytes));
  }
  if (asked.direction != Direction::Send) {
    measured.directions.push_back(received_outcome(*test, plan.packet_bytes));
  }
  return measured;
}

Result<ForeignUdp> run_nuttcp(const ForeignHost& host, const ForeignUdpPlan& plan, int interrupt) {
  const udp::Parameters& asked = plan.parameters;
  if (asked.direction == Direction::Both || asked.streams > 1) {
    return fail(ErrorKind::Usage, "", asked.streams > 1 ? "--streams" : "--both",
                "nuttcp's UDP is one stream, one way at a time");
  }
  const bool sends = asked.direction == Direction::Send;
  nuttcp::Parameters parameters{.sender = sends ? nuttcp::Sender::Client : nuttcp::Sender::Server,
                                .block_bytes = static_cast<int>(plan.packet_bytes),
                                .time_s = std::chrono::duration<double>(asked.time).count(),
                                .traffic_class = plan.dscp.value_or(0) << 2};
  if (asked.bits_per_s.value_or(0) > 0) {
    parameters.rate_kbits_per_s = static_cast<std::uint64_t>(std::llround(*asked.bits_per_s / 1e3));
  }
  const Result<nuttcp::UdpTest> test = nuttcp::run_udp(
      {.peer = host.peer, .family = host.family, .socket = host.socket, .interrupt = interrupt},
      parameters, [](const peer::DatagramInterval&) {});
  if (!test) {
    return std::unexpected(test.error());
  }
  const std::uint64_t theirs = test->server.datagrams(parameters.block_bytes);
  const std::uint64_t own = test->measure.packets;
  return ForeignUdp{
      .directions = {outcome_of(asked.direction, sends ? own : theirs, sends ? theirs : own,
                                test->measure.seconds, plan.packet_bytes)},
      .peer = test->peer,
      .software = "nuttcp " + test->version.text(),
      .interrupted = test->interrupted};
}

}  // namespace

Result<ForeignUdp> run_foreign(Foreign foreign, const ForeignHost& host, const ForeignUdpPlan& plan,
                               int interrupt) {
  return foreign == Foreign::Iperf3 ? run_iperf3(host, plan, interrupt)
                                    : run_nuttcp(host, plan, interrupt);
}

}  // namespace chokepoint::probe
