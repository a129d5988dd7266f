#include <poll.h>

#include <algorithm>

#include "base/net/socket.h"
#include "base/net/tcp_info.h"
#include "probe/nuttcp/server_rules.h"
#include "probe/nuttcp/server_talk.h"
#include "probe/nuttcp/tick.h"
#include "probe/peer/dial.h"

namespace chokepoint::probe::nuttcp {
namespace {

using net::Patience;
using std::chrono::nanoseconds;

tcp::Role role_of(const Parameters& parameters) {
  return server_sends(parameters) ? tcp::Role::Send : tcp::Role::Receive;
}

tcp::Parameters engine_parameters(const Parameters& parameters, const control::Limits& limits) {
  tcp::Parameters engine{
      .direction = server_sends(parameters) ? tcp::Direction::Send : tcp::Direction::Receive,
      .streams = parameters.streams,
      .time = time_of(parameters, limits),
      .mss = parameters.mss,
      .window = parameters.window_bytes};
  if (parameters.blocks) {
    engine.bytes = *parameters.blocks * static_cast<std::uint64_t>(parameters.block_bytes);
  }
  if (parameters.rate_kbits_per_s) {
    engine.pace_bits_per_s = static_cast<double>(*parameters.rate_kbits_per_s) * 1e3;
  }
  if (parameters.traffic_class > 0) {
    engine.dscp = parameters.traffic_class >> 2;
  }
  if (parameters.interval_s >= 0.01) {
    engine.interval = std::chrono::duration_cast<nanoseconds>(
        std::chrono::duration<double>(parameters.interval_s));
  }
  return engine;
}

Tally tally_of(const tcp::Half& half) {
  Tally tally{.cpu_seconds = 0};
  double start = half.streams.empty() ? 0 : half.streams.front().start_s;
  double end = 0;
  for (const tcp::StreamMeasure& stream : half.streams) {
    tally.bytes += stream.total_bytes;
    start = std::min(start, stream.start_s);
    end = std::max(end, stream.end_s);
    if (stream.retransmits) {
      tally.retransmits = tally.retransmits.value_or(0) + *stream.retransmits;
    }
  }
  tally.seconds = std::max(end - start, 1e-6);
  tally.cpu_seconds = half.host.cpu_percent / 100 * tally.seconds;
  tally.calls = tally.bytes / (std::uint64_t{64} * 1024) + 1;
  return tally;
}

}  // namespace

Result<Tally> ServerTalk::serve_tcp(const Parameters& parameters) {
  Result<std::vector<sys::Descriptor>> listeners = listen(parameters);
  if (!listeners) {
    static_cast<void>(refuse(listeners.error()));
    return std::unexpected(listeners.error());
  }
  TRY(say(ok_line()));
  TRY(std::vector<tcp::Connection> streams,
      connects(parameters) ? reach_out(parameters) : take_in(parameters, std::move(*listeners)));
  Tally opening;
  if (connects(parameters)) {
    const Result<net::TcpInfo> info = net::read_tcp_info(streams.front().fd.get());
    opening.rtt_ms = info ? info->rtt_ms : std::nullopt;
    opening.mss = info ? std::optional(static_cast<int>(info->mss_bytes)) : std::nullopt;
  }
  const Result<> opened = say(opening_text(parameters, opening, from_.address.text()));
  const Result<std::unique_ptr<tcp::Endpoint>> endpoint =
      opened ? tcp::Endpoint::make(std::move(streams),
                                   engine_parameters(parameters, options_.limits), options_.root)
             : std::unexpected(opened.error());
  return endpoint ? flow(parameters, **endpoint) : std::unexpected(endpoint.error());
}

// Every data port there will be, on the address that the client found this server on.
Result<std::vector<sys::Descriptor>> ServerTalk::listen(const Parameters& parameters) const {
  std::vector<sys::Descriptor> listeners;
  TRY(const net::Endpoint local, net::local_endpoint(channel_.descriptor()));
  const tcp::Parameters engine = engine_parameters(parameters, options_.limits);
  for (int i = 0; i < parameters.streams && !connects(parameters); ++i) {
    const auto port = static_cast<std::uint16_t>(parameters.data_port + i);
    Result<sys::Descriptor> listener =
        net::listen({local.address, port}, 1, tcp::socket_options(engine));
    if (!listener) {
      return std::unexpected(listener.error());
    }
    listeners.push_back(std::move(*listener));
  }
  return listeners;
}

Result<std::vector<tcp::Connection>> ServerTalk::take_in(
    const Parameters& parameters, std::vector<sys::Descriptor> listeners) const {
  const Patience patience = Patience::of(kStep, stop_);
  const tcp::Role role = role_of(parameters);
  std::vector<tcp::Connection> streams;
  while (streams.size() < listeners.size()) {
    const int listener = listeners[streams.size()].get();
    const Result<> came = net::wait_for(listener, POLLIN, patience, "accept", from_.text());
    TRY(std::optional<sys::Descriptor> fd,
        came ? net::accept(listener) : std::unexpected(came.error()));
    const Result<net::Endpoint> from =
        fd ? net::peer_endpoint(fd->get()) : fail(ErrorKind::Io, "", "", "");
    if (from && from->address == from_.address) {
      streams.push_back({std::move(*fd), role});
    }
  }
  return streams;
}

Result<std::vector<tcp::Connection>> ServerTalk::reach_out(const Parameters& parameters) const {
  const Patience patience = Patience::of(kStep, stop_);
  const tcp::Role role = role_of(parameters);
  net::SocketOptions socket = tcp::socket_options(engine_parameters(parameters, options_.limits));
  const Result<net::Endpoint> local = net::local_endpoint(channel_.descriptor());
  if (local) {
    socket.source = local->address;
  }
  static_cast<void>(
      net::wait_for(-1, 0, patience.at_most(kClientListens), "connect", from_.text()));
  std::vector<tcp::Connection> streams;
  for (int i = 0; i < parameters.streams; ++i) {
    const auto port = static_cast<std::uint16_t>(parameters.data_port + i);
    Result<sys::Descriptor> fd = peer::dial_soon({from_.address, port}, socket, patience);
    if (!fd) {
      return std::unexpected(fd.error());
    }
    streams.push_back({std::move(*fd), role});
  }
  return streams;
}

Result<Tally> ServerTalk::flow(const Parameters& parameters, tcp::Endpoint& endpoint) {
  const Patience patience =
      Patience::of(time_of(parameters, options_.limits) + kServerGrace, stop_);
  Result<> told;
  const auto on_interval = [&](const tcp::IntervalMeasure& interval) {
    if (reports(parameters) && told && interval.role == tcp::Role::Receive) {
      told = say(interval_line(parameters, interval.bytes, interval.end_s - interval.start_s));
    }
  };
  endpoint.begin();
  while (!endpoint.done()) {
    const Result<> ticked = net::wait_for(-1, 0, patience.at_most(kTick), "serve", from_.text());
    endpoint.tick(on_interval);
    if (ticked.error().kind == ErrorKind::Interrupted || patience.over() || !told) {
      return std::unexpected(told ? ticked.error() : told.error());
    }
  }
  return tally_of(endpoint.half());
}

}  // namespace chokepoint::probe::nuttcp
