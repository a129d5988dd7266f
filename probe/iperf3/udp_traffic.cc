#include "probe/iperf3/udp_traffic.h"

#include <algorithm>

#include "probe/iperf3/formats.h"
#include "probe/iperf3/protocol.h"

namespace chokepoint::probe::iperf3 {
namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t kSecond = 1'000'000'000;

std::optional<std::uint64_t> packets_of(const Parameters& parameters) {
  const auto streams = static_cast<std::uint64_t>(parameters.streams);
  const auto size = static_cast<std::uint64_t>(parameters.block_bytes);
  if (parameters.blocks > 0) {
    return (parameters.blocks + streams - 1) / streams;
  }
  return parameters.bytes > 0
             ? std::optional((parameters.bytes + size * streams - 1) / (size * streams))
             : std::nullopt;
}

peer::DatagramPlan plan_of(const Parameters& parameters, bool at_server) {
  peer::DatagramPlan plan{.bytes = static_cast<std::size_t>(parameters.block_bytes),
                          .bits_per_second = static_cast<double>(parameters.rate_bits_per_s),
                          .time_ns = (parameters.time_s + parameters.omit_s) * kSecond};
  const std::optional<std::uint64_t> amount = packets_of(parameters);
  if (amount) {
    plan.time_ns = nanoseconds(kUntilTheAmountIsOver).count();
  } else if (at_server) {
    plan.time_ns += nanoseconds(kServerWaits).count();
  }
  // A client that asks for an amount says when it has it: what is lost on the way must be made up.
  plan.packets = at_server ? std::nullopt : amount;
  return plan;
}

StreamResult result_of(const peer::DatagramMeasure& measure) {
  const bool sends = measure.role == peer::Role::Send;
  return {.id = stream_id(measure.index),
          .bytes = measure.bytes,
          .jitter_s = measure.jitter_ms.value_or(0) / 1e3,
          .lost = sends ? 0 : static_cast<std::int64_t>(measure.missing),
          .packets = static_cast<std::int64_t>(sends ? measure.packets : measure.highest),
          .start_s = 0,
          .end_s = measure.seconds};
}

}  // namespace

UdpTraffic::UdpTraffic(std::vector<peer::DatagramSocket> sockets, const Parameters& parameters,
                       bool at_server, peer::DatagramMeter::OnInterval on_interval)
    : meter_(parameters.omit_s * kSecond, std::move(on_interval)) {
  const DatagramFormat format{.wide = parameters.wide_counters};
  for (peer::DatagramSocket& socket : sockets) {
    const bool sends = socket.role == peer::Role::Send;
    meter_.add(std::move(socket), sends ? peer::sending(plan_of(parameters, at_server), format)
                                        : peer::receiving(format));
  }
}

EndResults UdpTraffic::results() const {
  EndResults results;
  for (const peer::DatagramMeasure& measure : meter_.measures()) {
    results.sends = results.sends || measure.role == peer::Role::Send;
    results.streams.push_back(result_of(measure));
  }
  return results;
}

}  // namespace chokepoint::probe::iperf3
