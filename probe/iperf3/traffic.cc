#include "probe/iperf3/traffic.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/control/deadlines.h"
#include "base/sys/clock.h"
#include "probe/iperf3/protocol.h"
#include "probe/peer/datagram_loop.h"

namespace chokepoint::probe::iperf3 {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kThreadsEnd{2};
using sys::kNsPerSecond;

// How the loops of probe/peer read and write iperf3's datagrams. One copy per stream's thread.
struct DatagramFormat {
  bool wide = false;  // 64-bit sequence numbers

  void stamp(std::span<std::byte> packet, std::uint64_t number, std::int64_t now_ns) const {
    encode({.seconds = static_cast<std::uint32_t>(now_ns / kNsPerSecond),
            .microseconds = static_cast<std::uint32_t>(now_ns % kNsPerSecond / 1000),
            .sequence = number + 1},
           wide, packet);
  }

  std::optional<peer::Numbered> read(std::span<const std::byte> packet) const {
    const std::optional<DatagramHead> head = decode_head(packet, wide);
    if (!head || head->sequence == 0) {
      return std::nullopt;
    }
    return peer::Numbered{.number = head->sequence - 1,
                          .sent_ns = std::int64_t{head->seconds} * kNsPerSecond +
                                     std::int64_t{head->microseconds} * 1000};
  }

  // The control connection ends the data.
  bool ends(std::span<const std::byte>) const { return false; }
};

std::optional<std::uint64_t> amount_of(const Parameters& parameters) {
  if (parameters.bytes > 0) {
    return parameters.bytes;
  }
  return parameters.blocks > 0
             ? std::optional(parameters.blocks * static_cast<std::uint64_t>(parameters.block_bytes))
             : std::nullopt;
}

bool in_flight(int fd) {
  int bytes = 0;
  return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

StreamResult result_of(const tcp::StreamMeasure& measure) {
  return {.id = stream_id(measure.index),
          .bytes = measure.bytes,
          .retransmits = measure.role == tcp::Role::Send && measure.retransmits
                             ? static_cast<std::int64_t>(*measure.retransmits)
                             : -1,
          .start_s = 0,
          .end_s = std::max(measure.end_s - measure.start_s, 0.0)};
}

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
                          .time_ns = (parameters.time_s + parameters.omit_s) * kNsPerSecond};
  const std::optional<std::uint64_t> amount = packets_of(parameters);
  if (amount) {
    plan.time_ns = nanoseconds(peer::kUntilAmountSent).count();
  } else if (at_server) {
    plan.time_ns += nanoseconds(control::kDrain).count();
  }
  // A client that asks for an amount ends the test when it has it: the server must replace what is
  // lost on the way.
  plan.packets = at_server ? std::nullopt : amount;
  return plan;
}

StreamResult result_of(const peer::DatagramMeasure& measure) {
  const bool sends = measure.role == peer::Role::Send;
  const std::uint64_t counted = sends ? measure.packets : measure.highest;
  return {.id = stream_id(measure.index),
          .bytes = measure.bytes,
          .jitter_s = measure.jitter_ms.value_or(0) / 1e3,
          .lost = sends ? 0 : static_cast<std::int64_t>(measure.missing + measure.omitted_missing),
          .packets = static_cast<std::int64_t>(counted + measure.omitted_packets),
          .omitted_lost = static_cast<std::int64_t>(measure.omitted_missing),
          .omitted_packets = static_cast<std::int64_t>(measure.omitted_packets),
          .start_s = 0,
          .end_s = measure.seconds};
}

}  // namespace

tcp::Parameters engine_parameters(const Parameters& parameters, bool at_server) {
  tcp::Parameters engine{.direction = parameters.direction,
                         .streams = parameters.streams,
                         .time = seconds(parameters.time_s),
                         .bytes = amount_of(parameters),
                         .omit = seconds(parameters.omit_s),
                         .congestion = parameters.congestion,
                         .mss = parameters.mss,
                         .window = parameters.window_bytes};
  if (engine.bytes) {
    engine.time = peer::kUntilAmountSent;
  } else if (at_server) {
    engine.time += control::kDrain;
  }
  // The kernel enforces either rate.
  const std::uint64_t rate = parameters.rate_bits_per_s > 0
                                 ? parameters.rate_bits_per_s
                                 : parameters.socket_pacing_bits_per_s.value_or(0);
  if (rate > 0) {
    engine.pace_bits_per_s = static_cast<double>(rate) * parameters.streams;
  }
  if (parameters.traffic_class) {
    engine.dscp = *parameters.traffic_class >> 2;
  }
  return engine;
}

Result<std::unique_ptr<TcpTraffic>> TcpTraffic::make(std::vector<tcp::Connection> connections,
                                                     const tcp::Parameters& parameters,
                                                     const sys::Root& root,
                                                     tcp::OnInterval on_interval) {
  std::vector<sys::Descriptor> senders;
  for (const tcp::Connection& connection : connections) {
    if (connection.role == tcp::Role::Send) {
      senders.emplace_back(fcntl(connection.fd.get(), F_DUPFD_CLOEXEC, 0));
      if (!senders.back()) {
        return fail(from_errno(errno, "prepare", "socket"));
      }
    }
  }
  TRY(std::unique_ptr<tcp::Endpoint> endpoint,
      tcp::Endpoint::make(std::move(connections), parameters, root));
  return std::unique_ptr<TcpTraffic>(
      new TcpTraffic(std::move(endpoint), parameters, std::move(on_interval), std::move(senders)));
}

Result<> TcpTraffic::begin() {
  begun_ = steady_clock::now();
  return endpoint_->begin();
}

void TcpTraffic::tick() {
  if (!last_tick_done_) {
    last_tick_done_ = endpoint_->done();
    endpoint_->tick(on_interval_);
  }
}

std::uint64_t TcpTraffic::bytes(tcp::Role role) const {
  std::uint64_t sum = 0;
  for (const tcp::StreamMeasure& stream : endpoint_->half().streams) {
    sum += stream.role == role ? stream.total_bytes : 0;
  }
  return sum;
}

bool TcpTraffic::sending_over() const {
  if (stopped_ || steady_clock::now() >= begun_ + parameters_.time + parameters_.omit) {
    return true;
  }
  return parameters_.bytes && bytes(tcp::Role::Send) >= *parameters_.bytes;
}

bool TcpTraffic::sent() const {
  return sending_over() && std::ranges::none_of(senders_, [](const sys::Descriptor& sender) {
           return in_flight(sender.get());
         });
}

std::uint64_t TcpTraffic::received_bytes() const { return bytes(tcp::Role::Receive); }

void TcpTraffic::stop_sending() {
  stopped_ = true;
  endpoint_->stop();
}

void TcpTraffic::end() {
  const auto until = steady_clock::now() + kThreadsEnd;
  endpoint_->abort();
  while (!endpoint_->done() && steady_clock::now() < until) {
    std::this_thread::sleep_for(control::kTick / 4);
  }
  tick();
}

EndResults TcpTraffic::results() const {
  const tcp::Half half = endpoint_->half();
  EndResults results{.cpu_percent = half.host.cpu_percent,
                     .cpu_system_percent = half.host.cpu_percent};
  for (const tcp::StreamMeasure& stream : half.streams) {
    if (stream.role == tcp::Role::Send) {
      results.counts_retransmits = 1;
    }
    results.congestion = stream.congestion;
    results.streams.push_back(result_of(stream));
  }
  return results;
}

UdpTraffic::UdpTraffic(std::vector<peer::DatagramSocket> sockets, const Parameters& parameters,
                       bool at_server)
    : meter_(parameters.omit_s * kNsPerSecond) {
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
    if (measure.role == peer::Role::Send) {
      results.counts_retransmits = 0;
    }
    results.streams.push_back(result_of(measure));
  }
  return results;
}

}  // namespace chokepoint::probe::iperf3
