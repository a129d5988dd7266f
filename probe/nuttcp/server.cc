#include "probe/nuttcp/server.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "base/control/deadlines.h"
#include "base/control/limits.h"
#include "base/control/test_queue.h"
#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/net/socket.h"
#include "base/net/tcp_info.h"
#include "base/sys/error.h"
#include "base/sys/thread.h"
#include "probe/nuttcp/messages.h"
#include "probe/nuttcp/protocol.h"
#include "probe/peer/acceptor.h"
#include "probe/peer/datagram_meter.h"
#include "probe/peer/dial.h"
#include "probe/tcp/endpoint.h"

namespace chokepoint::probe::nuttcp {
namespace {

using net::Deadline;
using std::chrono::nanoseconds;
using Turn = control::TestQueue::Turn;

// One step of the handshake.
constexpr std::chrono::seconds kStep{5};
// A client opens its data port only after it has received OK.
constexpr std::chrono::milliseconds kClientListens{30};
constexpr std::size_t kMaxWaiting = 16;
constexpr std::size_t kMaxHelloBytes = 64;

bool server_sends(const Parameters& parameters) { return parameters.sender == Sender::Server; }

// Does the server make the data connections?
bool connects(const Parameters& parameters) {
  return server_sends(parameters) != parameters.flipped;
}

// Does the server send a line per interval?
bool reports(const Parameters& parameters) {
  return parameters.interval_s > 0 && !server_sends(parameters);
}

nanoseconds time_of(const Parameters& parameters, const control::Limits& limits) {
  return parameters.time_s > 0 ? std::chrono::duration_cast<nanoseconds>(
                                     std::chrono::duration<double>(parameters.time_s))
                               : limits.longest_test;
}

Result<> check(const Parameters& parameters, const control::Limits& limits) {
  TRY(control::check_time(limits, time_of(parameters, limits)));
  TRY(control::check_streams(limits, parameters.streams));
  TRY(control::check_buffer(limits, parameters.window_bytes.value_or(0)));
  return control::check_rate(limits,
                             static_cast<double>(parameters.rate_kbits_per_s.value_or(0)) * 1e3);
}

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

Tally tally_of(const peer::DatagramMeasure& measure) {
  return {
      .bytes = measure.bytes, .calls = measure.packets, .seconds = std::max(measure.seconds, 1e-6)};
}

peer::DatagramStream::Loop loop_of(const Parameters& parameters, const control::Limits& limits) {
  const DatagramFormat format{.counts = parameters.interval_s > 0};
  if (!server_sends(parameters)) {
    return peer::receiving(format);
  }
  const double kbits = static_cast<double>(parameters.rate_kbits_per_s.value_or(0));
  return peer::sending({.bytes = static_cast<std::size_t>(parameters.block_bytes),
                        .bits_per_second = kbits * 1e3,
                        .time_ns = time_of(parameters, limits).count(),
                        .packets = parameters.blocks},
                       format);
}

// What the test may take of this host, before it takes it.
Result<> reserve(Turn& turn, const Parameters& parameters, const control::Limits& limits) {
  tcp::Parameters engine = engine_parameters(parameters, limits);
  // As the client sees it: what the server receives into is its memory.
  engine.direction = server_sends(parameters) ? tcp::Direction::Receive : tcp::Direction::Send;
  const std::int64_t bytes =
      parameters.udp ? peer::kMemoryOfStream : tcp::memory_of(engine, limits);
  return turn.grow(parameters.streams, bytes);
}

// What it takes is known once its parameters are.
control::TestQueue::Test test_of(const net::Endpoint& client) {
  const std::string who = "nuttcp by " + client.address.unmapped().text();
  return {.demand = control::Weight::Heavy, .who = who, .owner = who};
}

// The server's side of one nuttcp test, as drawn in protocol.h. Every step has a deadline. Belongs
// to the test's thread.
class ServerSession {
 public:
  ServerSession(peer::PendingConnection client, const ServerOptions& options, int stop)
      : channel_(std::move(client.fd), client.from.text(),
                 client.received.substr(client.received.find('\n') + 1)),
        from_(client.from),
        turn_(options.test_queue, test_of(client.from)),
        options_(options),
        stop_(stop) {}

  // The whole test. Returns a summary for the log.
  Result<std::string> run() {
    const Result<> turn = wait_for_turn();
    TRY(const Parameters parameters, receive_parameters(turn));
    const Result<Tally> tally = parameters.udp ? serve_udp(parameters) : serve_tcp(parameters);
    TRY(tally ? send_closing(parameters, *tally) : std::unexpected(tally.error()));
    return fmt::format("{} {}, {} stream(s), {} bytes here", parameters.version.text(),
                       parameters.udp ? "UDP" : "TCP", parameters.streams, tally->bytes);
  }

 private:
  // A client that is not greeted yet waits, as it does for a server that serves another one. With
  // `exclusive` it is refused, for which the protocol has words only after the parameters.
  Result<> wait_for_turn() {
    const Deadline deadline = Deadline::of(control::kMaxQueueTime, stop_);
    while (true) {
      const Result<> taken = turn_.take();
      if (taken || options_.test_queue.exclusive() || deadline.over()) {
        return taken;
      }
      const Result<> gone =
          net::wait_for(channel_.descriptor(), POLLRDHUP, deadline.at_most(control::kTurnInterval),
                        "wait", from_.text());
      if (gone || gone.error().kind != ErrorKind::Timeout) {
        return gone ? fail(ErrorKind::Interrupted, "wait", from_.text(), "it gave up") : gone;
      }
    }
  }

  Result<Parameters> receive_parameters(const Result<>& turn) {
    if (!turn && turn.error().kind == ErrorKind::Interrupted) {
      return std::unexpected(turn.error());
    }
    const Deadline deadline = Deadline::of(kStep, stop_);
    TRY(channel_.send(hello_line(), deadline));
    TRY(const std::string line, channel_.line(deadline));
    Result<Parameters> parameters = decode_parameters(line);
    Result<> granted =
        parameters ? check(*parameters, options_.limits) : std::unexpected(parameters.error());
    granted = granted ? turn : granted;
    granted = granted ? reserve(turn_, *parameters, options_.limits) : granted;
    if (!granted) {
      static_cast<void>(refuse(granted.error()));
      return std::unexpected(granted.error());
    }
    if (!parameters->rate_kbits_per_s && options_.limits.rate_bits_per_s) {
      parameters->rate_kbits_per_s =
          static_cast<std::uint64_t>(*options_.limits.rate_bits_per_s / 1e3);
    }
    return parameters;
  }

  Result<> refuse(const Error& error) {
    return send(
        refusal(error.subject.empty() ? error.reason : error.subject + ": " + error.reason));
  }

  Result<Tally> serve_tcp(const Parameters& parameters) {
    Result<std::vector<sys::Descriptor>> listeners = listen(parameters);
    if (!listeners) {
      static_cast<void>(refuse(listeners.error()));
      return std::unexpected(listeners.error());
    }
    TRY(send(ok_line()));
    TRY(std::vector<tcp::Connection> streams,
        connects(parameters) ? connect_streams(parameters)
                             : accept_streams(parameters, std::move(*listeners)));
    Tally opening;
    if (connects(parameters)) {
      const Result<net::TcpInfo> info = net::read_tcp_info(streams.front().fd.get());
      opening.rtt_ms = info ? info->rtt_ms : std::nullopt;
      opening.mss = info ? std::optional(static_cast<int>(info->mss_bytes)) : std::nullopt;
    }
    TRY(send(opening_text(parameters, opening, from_.address.text())));
    TRY(const std::unique_ptr<tcp::Endpoint> endpoint,
        tcp::Endpoint::make(std::move(streams), engine_parameters(parameters, options_.limits),
                            options_.root));
    return flow(parameters, *endpoint);
  }

  // Listens on every data port, on the address that the client has reached.
  Result<std::vector<sys::Descriptor>> listen(const Parameters& parameters) const {
    std::vector<sys::Descriptor> listeners;
    TRY(const net::Endpoint local, net::local_endpoint(channel_.descriptor()));
    const tcp::Parameters engine = engine_parameters(parameters, options_.limits);
    for (int i = 0; i < parameters.streams && !connects(parameters); ++i) {
      const auto port = static_cast<std::uint16_t>(parameters.data_port + i);
      TRY(sys::Descriptor listener,
          net::listen({local.address, port}, 1, tcp::socket_options(engine)));
      listeners.push_back(std::move(listener));
    }
    return listeners;
  }

  Result<std::vector<tcp::Connection>> accept_streams(
      const Parameters& parameters, std::vector<sys::Descriptor> listeners) const {
    const Deadline deadline = Deadline::of(kStep, stop_);
    const tcp::Role role = role_of(parameters);
    std::vector<tcp::Connection> streams;
    while (streams.size() < listeners.size()) {
      const int listener = listeners[streams.size()].get();
      // Connections of others may keep coming.
      if (deadline.over()) {
        return fail(ErrorKind::Timeout, "accept", from_.text(), "it did not connect in time");
      }
      TRY(net::wait_for(listener, POLLIN, deadline, "accept", from_.text()));
      TRY(std::optional<sys::Descriptor> fd, net::accept(listener));
      if (!fd) {
        continue;
      }
      const Result<net::Endpoint> from = net::peer_endpoint(fd->get());
      if (from && from->address == from_.address) {
        streams.push_back({std::move(*fd), role});
      }
    }
    return streams;
  }

  Result<std::vector<tcp::Connection>> connect_streams(const Parameters& parameters) const {
    const Deadline deadline = Deadline::of(kStep, stop_);
    const tcp::Role role = role_of(parameters);
    net::SocketOptions socket = tcp::socket_options(engine_parameters(parameters, options_.limits));
    const Result<net::Endpoint> local = net::local_endpoint(channel_.descriptor());
    if (local) {
      socket.source = local->address;
    }
    static_cast<void>(
        net::wait_for(-1, 0, deadline.at_most(kClientListens), "connect", from_.text()));
    std::vector<tcp::Connection> streams;
    for (int i = 0; i < parameters.streams; ++i) {
      const auto port = static_cast<std::uint16_t>(parameters.data_port + i);
      TRY(sys::Descriptor fd, peer::dial_soon({from_.address, port}, socket, deadline));
      streams.push_back({std::move(fd), role});
    }
    return streams;
  }

  Result<Tally> flow(const Parameters& parameters, tcp::Endpoint& endpoint) {
    const Deadline deadline =
        Deadline::of(time_of(parameters, options_.limits) + control::kDrain, stop_);
    Result<> reported;
    const auto on_interval = [&](const tcp::IntervalMeasure& interval) {
      if (reports(parameters) && reported && interval.role == tcp::Role::Receive) {
        reported =
            send(interval_line(parameters, interval.bytes, interval.end_s - interval.start_s));
      }
    };
    TRY(endpoint.begin());
    while (!endpoint.done()) {
      const Result<> ticked =
          net::wait_for(-1, 0, deadline.at_most(control::kTick), "serve", from_.text());
      endpoint.tick(on_interval);
      if (ticked.error().kind == ErrorKind::Interrupted || deadline.over() || !reported) {
        return std::unexpected(reported ? ticked.error() : reported.error());
      }
    }
    return tally_of(endpoint.half());
  }

  Result<Tally> serve_udp(const Parameters& parameters) {
    Result<sys::Descriptor> fd = open_udp(parameters);
    if (!fd) {
      static_cast<void>(refuse(fd.error()));
      return std::unexpected(fd.error());
    }
    const bool sends = server_sends(parameters);
    const int socket = fd->get();
    TRY(begin_data(socket, parameters));
    TRY(send(opening_text(parameters, {}, from_.address.text())));
    Result<> reported;
    peer::DatagramMeter meter(0, [&](const peer::DatagramInterval& interval) {
      if (reports(parameters) && reported) {
        reported =
            send(interval_line(parameters, interval.bytes, interval.end_s - interval.start_s));
      }
    });
    meter.add({std::move(*fd), sends ? peer::Role::Send : peer::Role::Receive},
              loop_of(parameters, options_.limits));
    Result<> moved = meter.begin();
    moved = moved ? flow(parameters, meter) : moved;
    moved = moved && sends ? send_end_marks(socket, stop_) : moved;
    meter.end();
    TRY(moved);
    TRY(reported);
    return tally_of(meter.measures().front());
  }

  Result<sys::Descriptor> open_udp(const Parameters& parameters) const {
    TRY(const net::Endpoint local, net::local_endpoint(channel_.descriptor()));
    net::SocketOptions socket;
    if (parameters.traffic_class > 0) {
      socket.dscp = parameters.traffic_class >> 2;
    }
    const std::uint16_t port = server_sends(parameters) ? std::uint16_t{0} : parameters.data_port;
    return net::bind_udp({local.address, port}, socket);
  }

  // Until both sides know that the data begins.
  Result<> begin_data(int socket, const Parameters& parameters) {
    TRY(send(ok_line()));
    if (!server_sends(parameters)) {
      return await_begin_mark(socket, from_.address, Deadline::of(kStep, stop_));
    }
    static_cast<void>(
        net::wait_for(-1, 0, Deadline::of(kClientListens, stop_), "serve", from_.text()));
    TRY(net::connect_udp(socket, {from_.address, parameters.data_port}));
    return send_begin_marks(socket, stop_);
  }

  Result<> flow(const Parameters& parameters, peer::DatagramMeter& meter) const {
    const bool sends = server_sends(parameters);
    const Deadline deadline =
        Deadline::of(time_of(parameters, options_.limits) + control::kDrain, stop_);
    while (!(sends ? meter.sent() : meter.ended())) {
      const Result<> ticked =
          net::wait_for(-1, 0, deadline.at_most(control::kTick), "serve", from_.text());
      meter.tick();
      if (ticked.error().kind == ErrorKind::Interrupted || deadline.over()) {
        return ticked;
      }
    }
    return {};
  }

  Result<> send(const std::string& text) { return channel_.send(text, Deadline::of(kStep, stop_)); }

  // With the line that ends the interval lines, if there were any.
  Result<> send_closing(const Parameters& parameters, const Tally& tally) {
    return send((reports(parameters) ? "DONE\n" : "") + closing_text(parameters, tally));
  }

  LineChannel channel_;
  net::Endpoint from_;
  Turn turn_;
  const ServerOptions& options_;
  int stop_;
};

// How many more bytes of a greeting, one short line, there may be.
std::size_t wants(const std::string& received) {
  const bool complete =
      received.find('\n') != std::string::npos || received.size() >= kMaxHelloBytes;
  return complete ? 0 : kMaxHelloBytes - received.size();
}

void run_tests(peer::ConnectionQueue& queue, const ServerOptions& options, int stop) {
  while (true) {
    Result<peer::PendingConnection> client = queue.next(Deadline::of(peer::kUntilNextClient, stop));
    if (!client) {
      return;
    }
    const std::string name = client->from.text();
    Result<std::string> done = fail(ErrorKind::Exhausted, "test", "", "no memory is left for it");
    try {
      done = ServerSession(std::move(*client), options, stop).run();
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): `done` holds the error
    }
    options.log("nuttcp " + name + ": " + (done ? *done : describe(done.error())));
  }
}

}  // namespace

Result<> serve(std::vector<sys::Descriptor> listeners, const ServerOptions& options, int stop) {
  TRY(const std::unique_ptr<peer::ConnectionQueue> queue, peer::ConnectionQueue::make(kMaxWaiting));
  TRY(std::thread tests, sys::start_thread("nuttcp", [&] { run_tests(*queue, options, stop); }));
  peer::Acceptor acceptor(std::move(listeners),
                          {.wants = wants, .on_ready = [&](peer::PendingConnection connection) {
                             if (read_hello(connection.received)) {
                               queue->push(connection);
                             }
                           }});
  const Result<> done = acceptor.run(stop);
  tests.join();
  return done;
}

}  // namespace chokepoint::probe::nuttcp
