#include "probe/iperf3/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/net/socket.h"
#include "probe/iperf3/client_talk.h"
#include "probe/iperf3/datagram.h"
#include "probe/iperf3/tcp_traffic.h"
#include "probe/iperf3/udp_traffic.h"

namespace chokepoint::probe::iperf3 {
namespace {

using net::Patience;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kStreams{10};
// Greetings get lost like any datagram.
constexpr milliseconds kGreetAgain{1000};

Way way_of(tcp::Direction direction) {
  switch (direction) {
    case tcp::Direction::Send:
      return Way::Forward;
    case tcp::Direction::Receive:
      return Way::Reverse;
    case tcp::Direction::Both:
      return Way::Both;
  }
  return Way::Forward;
}

int whole_seconds(std::chrono::nanoseconds time) {
  return static_cast<int>(std::chrono::ceil<seconds>(time).count());
}

// iperf3 knows whole seconds only.
Parameters parameters_of(const tcp::Parameters& asked) {
  Parameters parameters{.way = way_of(asked.direction),
                        .omit_s = whole_seconds(asked.omit),
                        .time_s = asked.bytes ? 0 : whole_seconds(asked.time),
                        .bytes = asked.bytes.value_or(0),
                        .streams = asked.streams,
                        .mss = asked.mss,
                        .window_bytes = asked.window,
                        .congestion = asked.congestion,
                        .client_version = "3.12"};
  if (asked.pace_bits_per_s) {
    parameters.rate_bits_per_s = static_cast<std::uint64_t>(*asked.pace_bits_per_s / asked.streams);
  }
  if (asked.dscp) {
    parameters.traffic_class = *asked.dscp << 2;
  }
  return parameters;
}

int streams_of(const Parameters& parameters) {
  return parameters.way == Way::Both ? 2 * parameters.streams : parameters.streams;
}

// The client's senders come first.
bool sends(const Parameters& parameters, int index) {
  return parameters.way == Way::Forward ||
         (parameters.way == Way::Both && index < parameters.streams);
}

net::SocketOptions with_source(net::SocketOptions options, const ClientOptions& client) {
  options.source = client.socket.source;
  options.interface = client.socket.interface;
  return options;
}

Result<std::vector<tcp::Connection>> open_tcp(const ClientTalk& talk, const ClientOptions& options,
                                              const Parameters& parameters,
                                              const tcp::Parameters& asked) {
  const Patience patience = Patience::of(kStreams, options.interrupt);
  const net::SocketOptions socket = with_source(tcp::socket_options(asked), options);
  std::vector<tcp::Connection> opened;
  for (int i = 0; i < streams_of(parameters); ++i) {
    TRY(sys::Descriptor fd, net::connect(talk.peer(), socket, patience));
    TRY(net::send_all(fd.get(), std::as_bytes(std::span(talk.cookie())), patience,
                      talk.peer().text()));
    opened.push_back({std::move(fd), sends(parameters, i) ? tcp::Role::Send : tcp::Role::Receive});
  }
  return opened;
}

// What the server measured, in this program's terms: its role is the other one.
tcp::Half half_of(const EndResults& server, const std::vector<tcp::StreamMeasure>& own) {
  tcp::Half half{.host = {.cpu_percent = server.cpu_percent}};
  for (const tcp::StreamMeasure& mine : own) {
    const StreamResult* theirs = server.find(stream_id(mine.index));
    const tcp::Role role = mine.role == tcp::Role::Send ? tcp::Role::Receive : tcp::Role::Send;
    const StreamResult known = theirs == nullptr ? StreamResult{} : *theirs;
    half.streams.push_back(
        {.role = role,
         .index = mine.index,
         .total_bytes = known.bytes,
         .bytes = known.bytes,
         .start_s = known.start_s,
         .end_s = known.end_s,
         .retransmits = role == tcp::Role::Send ? known.retransmits : std::nullopt,
         .congestion = server.congestion});
  }
  return half;
}

Result<sys::Descriptor> greet(const ClientTalk& talk, net::SocketOptions socket,
                              const Patience& patience) {
  const net::Address any = talk.peer().address.family() == net::Family::Ipv4
                               ? net::Address::v4(in_addr{INADDR_ANY})
                               : net::Address::v6(in6addr_any, 0);
  const net::Endpoint local{socket.source.value_or(any), 0};
  socket.source = std::nullopt;
  Result<sys::Descriptor> fd = net::bind_udp(local, socket);
  Result<> done = fd ? net::connect_udp(fd->get(), talk.peer()) : std::unexpected(fd.error());
  if (!done) {
    return std::unexpected(done.error());
  }
  while (true) {
    if (done = net::send_all(fd->get(), greeting(), patience, talk.peer().text()); !done) {
      return std::unexpected(done.error());
    }
    // In reverse the first data may overtake the answer.
    const Patience until = patience.at_most(kGreetAgain);
    std::array<std::byte, 2048> packet{};
    while (!until.over()) {
      const Result<std::size_t> got =
          net::receive_some(fd->get(), packet, until, talk.peer().text());
      if (got && is_answer(std::span(packet).first(*got))) {
        return fd;
      }
      if (!got && got.error().kind != ErrorKind::Timeout) {
        return std::unexpected(got.error());
      }
    }
    if (patience.over()) {
      return fail(ErrorKind::Timeout, "",
                  fmt::format("{} UDP port {}", talk.peer().address.text(), talk.peer().port),
                  "iperf3 answers over TCP, but not over UDP", "does a firewall let UDP pass?");
    }
  }
}

Result<std::vector<peer::DatagramSocket>> open_udp(const ClientTalk& talk,
                                                   const ClientOptions& options,
                                                   const Parameters& parameters) {
  const Patience patience = Patience::of(kStreams, options.interrupt);
  net::SocketOptions socket = options.socket;
  if (parameters.traffic_class) {
    socket.dscp = *parameters.traffic_class >> 2;
  }
  std::vector<peer::DatagramSocket> opened;
  for (int i = 0; i < streams_of(parameters); ++i) {
    TRY(sys::Descriptor fd, greet(talk, socket, patience));
    opened.push_back(
        {std::move(fd), sends(parameters, i) ? peer::Role::Send : peer::Role::Receive});
  }
  return opened;
}

// From the streams on: the same for every kind of data.
Result<bool> conduct(ClientTalk& talk, const Parameters& parameters, Traffic& traffic,
                     EndResults& server) {
  TRY(talk.start());
  const Result<bool> interrupted = talk.flow(parameters, traffic);
  if (!interrupted) {
    return interrupted;
  }
  TRY(EndResults results, talk.finish(traffic));
  server = std::move(results);
  return interrupted;
}

}  // namespace

Result<TcpTest> run_tcp(const ClientOptions& options, const tcp::Parameters& asked,
                        const tcp::Watcher& watcher) {
  const Parameters parameters = parameters_of(asked);
  Result<ClientTalk> talk = ClientTalk::begin(options);
  TRY(talk ? talk->ask(parameters) : std::unexpected(talk.error()));
  tcp::Parameters engine = engine_parameters(parameters, false);
  engine.interval = asked.interval;
  engine.zero_copy = asked.zero_copy;
  TRY(std::vector<tcp::Connection> opened, open_tcp(*talk, options, parameters, engine));
  const Result<std::unique_ptr<TcpTraffic>> traffic = TcpTraffic::make(
      std::move(opened), engine, options.root,
      [&](const tcp::IntervalMeasure& interval) { watcher(tcp::Side::Client, interval); });
  if (!traffic) {
    return std::unexpected(traffic.error());
  }
  EndResults server;
  TRY(const bool interrupted, conduct(*talk, parameters, **traffic, server));
  tcp::Half own = (*traffic)->half();
  tcp::Half theirs = half_of(server, own.streams);
  return TcpTest{.peer = talk->peer(),
                 .test = {.parameters = asked,
                          .client = std::move(own),
                          .server = std::move(theirs),
                          .interrupted = interrupted}};
}

Result<UdpTest> run_udp(const ClientOptions& options, const Parameters& parameters,
                        const peer::DatagramMeter::OnInterval& on_interval) {
  Result<ClientTalk> talk = ClientTalk::begin(options);
  TRY(talk ? talk->ask(parameters) : std::unexpected(talk.error()));
  TRY(std::vector<peer::DatagramSocket> opened, open_udp(*talk, options, parameters));
  UdpTraffic traffic(std::move(opened), parameters, false, on_interval);
  EndResults server;
  TRY(const bool interrupted, conduct(*talk, parameters, traffic, server));
  return UdpTest{.peer = talk->peer(),
                 .interrupted = interrupted,
                 .server = std::move(server),
                 .measures = traffic.meter().measures(),
                 .intervals = traffic.meter().intervals()};
}

}  // namespace chokepoint::probe::iperf3
