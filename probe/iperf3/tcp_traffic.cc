#include "probe/iperf3/tcp_traffic.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "probe/iperf3/protocol.h"

namespace chokepoint::probe::iperf3 {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kThreadsEnd{2};

tcp::Direction direction_of(Way way) {
  switch (way) {
    case Way::Forward:
      return tcp::Direction::Send;
    case Way::Reverse:
      return tcp::Direction::Receive;
    case Way::Both:
      return tcp::Direction::Both;
  }
  return tcp::Direction::Send;
}

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
          .retransmits = measure.role == tcp::Role::Send ? measure.retransmits : std::nullopt,
          .start_s = 0,
          .end_s = std::max(measure.end_s - measure.start_s, 0.0)};
}

}  // namespace

tcp::Parameters engine_parameters(const Parameters& parameters, bool at_server) {
  tcp::Parameters engine{.direction = direction_of(parameters.way),
                         .streams = parameters.streams,
                         .time = seconds(parameters.time_s),
                         .bytes = amount_of(parameters),
                         .omit = seconds(parameters.omit_s),
                         .congestion = parameters.congestion,
                         .mss = parameters.mss,
                         .window = parameters.window_bytes};
  if (engine.bytes) {
    engine.time = kUntilTheAmountIsOver;
  } else if (at_server) {
    engine.time += kServerWaits;
  }
  // Both are the kernel's to keep here.
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
  endpoint_->begin();
  return {};
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
    std::this_thread::sleep_for(kTick / 4);
  }
  tick();
}

EndResults TcpTraffic::results() const {
  const tcp::Half half = endpoint_->half();
  EndResults results{.cpu_percent = half.host.cpu_percent,
                     .cpu_system_percent = half.host.cpu_percent,
                     .counts_retransmits = true};
  for (const tcp::StreamMeasure& stream : half.streams) {
    results.sends = results.sends || stream.role == tcp::Role::Send;
    results.congestion = stream.congestion;
    results.streams.push_back(result_of(stream));
  }
  return results;
}

}  // namespace chokepoint::probe::iperf3
