#include <fmt/format.h>

#include <algorithm>

#include "base/net/socket.h"
#include "probe/nuttcp/client.h"
#include "probe/nuttcp/client_talk.h"
#include "probe/nuttcp/tick.h"
#include "probe/peer/dial.h"
#include "probe/tcp/endpoint.h"

namespace chokepoint::probe::nuttcp {
namespace {

using net::Patience;
using std::chrono::seconds;

constexpr seconds kStreams{3};

Result<> check(const tcp::Parameters& asked) {
  if (asked.direction == tcp::Direction::Both) {
    return fail(ErrorKind::Usage, "", "--both", "nuttcp goes one way at a time",
                "run --send, then --receive");
  }
  if (asked.omit.count() > 0) {
    return fail(ErrorKind::Usage, "", "--omit", "nuttcp counts from the start");
  }
  return {};
}

Parameters parameters_of(const tcp::Parameters& asked, const ClientOptions& options) {
  const bool sends = asked.direction == tcp::Direction::Send;
  Parameters parameters{
      .sender = sends ? Sender::Client : Sender::Server,
      .flipped = !sends,
      .time_s = asked.bytes ? 0 : std::chrono::duration<double>(asked.time).count(),
      .streams = asked.streams,
      .data_port = options.data_port,
      .window_bytes = asked.window,
      .mss = asked.mss,
      .traffic_class = asked.dscp.value_or(0) << 2,
      .machine_readable = true};
  if (asked.bytes) {
    const auto block = static_cast<std::uint64_t>(parameters.block_bytes);
    parameters.blocks = (*asked.bytes + block - 1) / block;
  }
  if (asked.pace_bits_per_s) {
    parameters.rate_kbits_per_s = static_cast<std::uint64_t>(*asked.pace_bits_per_s / 1000);
  }
  return parameters;
}

Result<std::vector<tcp::Connection>> open_streams(const ClientTalk& talk,
                                                  const ClientOptions& options,
                                                  const tcp::Parameters& asked) {
  const Patience patience = Patience::of(kStreams, options.interrupt);
  net::SocketOptions socket = tcp::socket_options(asked);
  socket.source = options.socket.source;
  socket.interface = options.socket.interface;
  const bool sends = asked.direction == tcp::Direction::Send;
  std::vector<tcp::Connection> opened;
  for (int i = 0; i < asked.streams; ++i) {
    const net::Endpoint data{talk.peer().address,
                             static_cast<std::uint16_t>(options.data_port + i)};
    Result<sys::Descriptor> fd = peer::dial_soon(data, socket, patience);
    if (!fd) {
      Error error = fd.error();
      error.subject = fmt::format("nuttcp's data port {}", data.text());
      error.next_step =
          fmt::format("does a firewall let TCP ports {} and up pass?", options.data_port);
      return fail(std::move(error));
    }
    opened.push_back({std::move(*fd), sends ? tcp::Role::Send : tcp::Role::Receive});
  }
  return opened;
}

// True where the user ended it.
Result<bool> flow(tcp::Endpoint& endpoint, const tcp::Parameters& asked,
                  const ClientOptions& options, const tcp::Watcher& watcher) {
  const auto on_interval = [&](const tcp::IntervalMeasure& interval) {
    watcher(tcp::Side::Client, interval);
  };
  const auto longest = asked.bytes ? std::chrono::nanoseconds(std::chrono::hours(24)) : asked.time;
  Patience patience = Patience::of(longest + kClientGrace, options.interrupt);
  bool interrupted = false;
  endpoint.begin();
  while (!endpoint.done()) {
    const Result<> ticked = net::wait_for(-1, 0, patience.at_most(kTick), "test", "nuttcp");
    endpoint.tick(on_interval);
    if (ticked.error().kind == ErrorKind::Interrupted) {
      interrupted = true;
      patience = Patience::of(kClientGrace);
      endpoint.stop();
    }
    // A server that sends does not hear that it shall stop: it meets a closed connection.
    if (patience.over() || (interrupted && asked.direction == tcp::Direction::Receive)) {
      endpoint.abort();
    }
  }
  endpoint.tick(on_interval);
  return interrupted;
}

tcp::Half half_of(const ResultText& server, const tcp::Parameters& asked, const tcp::Half& own) {
  const auto streams = static_cast<std::uint64_t>(asked.streams);
  tcp::Half half{.host = {.cpu_percent = server.cpu_percent.value_or(0)}};
  for (const tcp::StreamMeasure& mine : own.streams) {
    const bool sends = mine.role == tcp::Role::Receive;
    const std::uint64_t bytes = server.bytes() / streams;
    half.streams.push_back({.role = sends ? tcp::Role::Send : tcp::Role::Receive,
                            .index = mine.index,
                            .total_bytes = bytes,
                            .bytes = bytes,
                            .end_s = server.seconds});
    if (sends && mine.index == 0) {
      half.streams.back().retransmits = server.retransmits;
    }
  }
  return half;
}

}  // namespace

Result<TcpTest> run_tcp(const ClientOptions& options, const tcp::Parameters& asked,
                        const tcp::Watcher& watcher) {
  const Result<> possible = check(asked);
  Result<ClientTalk> talk =
      possible ? ClientTalk::begin(options) : Result<ClientTalk>(std::unexpected(possible.error()));
  TRY(talk ? talk->ask(parameters_of(asked, options)) : std::unexpected(talk.error()));
  TRY(std::vector<tcp::Connection> opened, open_streams(*talk, options, asked));
  TRY(const std::unique_ptr<tcp::Endpoint> endpoint,
      tcp::Endpoint::make(std::move(opened), asked, options.root));
  const Result<bool> interrupted = flow(*endpoint, asked, options, watcher);
  TRY(const ResultText server,
      interrupted ? talk->results() : std::unexpected(interrupted.error()));
  tcp::Half own = endpoint->half();
  for (tcp::StreamMeasure& stream : own.streams) {
    // nuttcp closes all streams when the first of them ends.
    stream.error.clear();
  }
  tcp::Half theirs = half_of(server, asked, own);
  return TcpTest{.peer = talk->peer(),
                 .version = talk->version(),
                 .test = {.parameters = asked,
                          .client = std::move(own),
                          .server = std::move(theirs),
                          .interrupted = *interrupted}};
}

}  // namespace chokepoint::probe::nuttcp
