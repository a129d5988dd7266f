#include "probe/iperf3/server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "base/control/deadlines.h"
#include "base/control/test_queue.h"
#include "base/net/deadline.h"
#include "base/net/socket.h"
#include "base/sys/thread.h"
#include "probe/iperf3/channel.h"
#include "probe/iperf3/messages.h"
#include "probe/iperf3/protocol.h"
#include "probe/iperf3/traffic.h"
#include "probe/peer/acceptor.h"
#include "probe/peer/datagram_meter.h"
#include "probe/tcp/parameters.h"

namespace chokepoint::probe::iperf3 {
namespace {

using net::Deadline;
using std::chrono::seconds;
using Clock = Deadline::Clock;
using Turn = control::TestQueue::Turn;

// One step of the handshake.
constexpr seconds kStep{5};
// Data may arrive this long after the client has ended the test.
constexpr seconds kArriving{3};
constexpr int kQuietTicks = 3;

// A peer that accepts no byte has closed the connection.
void deny(const peer::PendingConnection& connection) {
  const State state = State::AccessDenied;
  static_cast<void>(send(connection.fd.get(), &state, sizeof(state), MSG_NOSIGNAL | MSG_DONTWAIT));
}

// The connections that wait for the test's thread: the next client, and the streams of the client
// that is served, which send its cookie. All others are refused as iperf3 does when it is busy.
// arrive() is called by the acceptor's thread, the rest by the test's.
class ClientQueue {
 public:
  static Result<std::unique_ptr<ClientQueue>> make() {
    TRY(Queue clients, peer::ConnectionQueue::make(1));
    TRY(Queue streams, peer::ConnectionQueue::make(std::size_t{2} * kMaxStreams));
    return std::unique_ptr<ClientQueue>(new ClientQueue(std::move(clients), std::move(streams)));
  }

  void arrive(peer::PendingConnection connection) {
    const std::lock_guard lock(mutex_);
    const bool first = !cookie_;
    if (first) {
      cookie_ = connection.received;
    }
    if (connection.received != *cookie_ || !(first ? clients_ : streams_)->push(connection)) {
      deny(connection);
    }
  }

  Result<peer::PendingConnection> next_client(const net::Deadline& deadline) {
    return clients_->next(deadline);
  }

  Result<peer::PendingConnection> next_stream(const net::Deadline& deadline) {
    return streams_->next(deadline);
  }

  void free() {
    const std::lock_guard lock(mutex_);
    cookie_.reset();
    streams_->clear();
  }

 private:
  using Queue = std::unique_ptr<peer::ConnectionQueue>;
  ClientQueue(Queue clients, Queue streams)
      : clients_(std::move(clients)), streams_(std::move(streams)) {}

  Queue clients_;
  Queue streams_;
  std::mutex mutex_;
  std::optional<std::string> cookie_;  // of the client that is served
};

struct Refused {
  Refusal refusal;
  Error error;
};

// What the client asks for beyond what this server grants, in iperf3's terms.
std::optional<Refused> beyond(const control::Limits& limits, const Parameters& parameters) {
  const double rate = static_cast<double>(parameters.rate_bits_per_s) * parameters.streams;
  const std::array<std::pair<Refusal, Result<>>, 4> checks{
      {{Refusal::TooLong,
        control::check_time(limits, seconds(parameters.time_s) + seconds(parameters.omit_s))},
       {Refusal::ManyStreams, control::check_streams(limits, connections(parameters))},
       {Refusal::LargeBuffer, control::check_buffer(limits, parameters.window_bytes.value_or(0))},
       {Refusal::HighRate, control::check_rate(limits, rate)}}};
  for (const auto& [refusal, granted] : checks) {
    if (!granted) {
      return Refused{refusal, granted.error()};
    }
  }
  return std::nullopt;
}

Refusal refusal_for(const Error& error) {
  switch (error.kind) {
    case ErrorKind::Unsupported:
      return Refusal::Protocol;
    case ErrorKind::NotFound:
      return Refusal::Congestion;
    case ErrorKind::Exhausted:
      return Refusal::Streams;
    default:
      return Refusal::BadParameters;
  }
}

// What the test may take of this host, before it takes it.
Result<> reserve(control::TestQueue::Turn& turn, const Parameters& parameters,
                 const control::Limits& limits) {
  const int streams = connections(parameters);
  const std::int64_t bytes = parameters.udp
                                 ? streams * peer::kMemoryOfStream
                                 : tcp::memory_of(engine_parameters(parameters, true), limits);
  Result<> reserved = turn.grow(streams, bytes);
  if (!reserved) {
    reserved.error().code = ENOMEM;
  }
  return reserved;
}

std::uint64_t bytes_of(const EndResults& results) {
  std::uint64_t sum = 0;
  for (const StreamResult& stream : results.streams) {
    sum += stream.bytes;
  }
  return sum;
}

// The server's side of one iperf3 test, step by step as drawn in protocol.h. Every step has a
// deadline, so a client that is gone, slow or sends nothing holds the server for some seconds at
// most. Belongs to the test's thread.
class ServerSession {
 public:
  ServerSession(peer::PendingConnection client, ClientQueue& queue, std::optional<Turn>& turn,
                const ServerOptions& options, int stop)
      : channel_(std::move(client.fd), client.from.text()),
        from_(client.from),
        queue_(queue),
        turn_(turn),
        options_(options),
        stop_(stop) {}

  // The whole test. Returns a summary for the log.
  Result<std::string> run() {
    // TEST_START and TEST_RUNNING are a byte each: with Nagle's algorithm the second waits for a
    // delayed acknowledgement, while UDP already flows that the client does not count yet.
    TRY(net::apply({.no_delay = true}, channel_.descriptor(), from_.address.family()));
    TRY(const Parameters parameters, receive_parameters());
    const Result<std::unique_ptr<Traffic>> traffic = collect(parameters);
    if (!traffic) {
      return refuse(refusal_for(traffic.error()), traffic.error());
    }
    TRY(channel_.send(State::TestStart, Deadline::of(kStep, stop_)));
    TRY(channel_.send(State::TestRunning, Deadline::of(kStep, stop_)));
    TRY(flow(parameters, **traffic));
    TRY(const EndResults own, exchange(parameters, **traffic));
    return fmt::format("iperf3 {}: {} {}, {} stream(s), {} bytes here", from_.text(),
                       parameters.client_version, parameters.udp ? "UDP" : "TCP",
                       own.streams.size(), bytes_of(own));
  }

  // Gives the turn up and admits the next client. Does nothing after the first call.
  void leave() {
    if (!left_) {
      left_ = true;
      turn_.reset();
      queue_.free();
    }
  }

 private:
  Result<Parameters> receive_parameters() {
    const Deadline deadline = Deadline::of(kStep, stop_);
    TRY(channel_.send(State::ParamExchange, deadline));
    TRY(const std::string json, channel_.receive_json(kMaxParameterBytes, deadline));
    Result<Parameters> parameters = decode_parameters(json);
    if (!parameters) {
      return refuse(refusal_for(parameters.error()), parameters.error());
    }
    if (const std::optional<Refused> excess = beyond(options_.limits, *parameters)) {
      return refuse(excess->refusal, excess->error);
    }
    if (const Result<> reserved = reserve(*turn_, *parameters, options_.limits); !reserved) {
      return refuse(refusal_for(reserved.error()), reserved.error());
    }
    if (parameters->rate_bits_per_s == 0 && options_.limits.rate_bits_per_s) {
      parameters->rate_bits_per_s =
          static_cast<std::uint64_t>(*options_.limits.rate_bits_per_s / connections(*parameters));
    }
    return parameters;
  }

  std::unexpected<Error> refuse(Refusal refusal, const Error& error) {
    // A client that receives the refusal may request less at once.
    leave();
    static_cast<void>(channel_.send(
        ServerError{.code = static_cast<std::int32_t>(refusal), .system_code = error.code},
        Deadline::of(kStep, stop_)));
    return std::unexpected(error);
  }

  Result<std::unique_ptr<Traffic>> collect(const Parameters& parameters) {
    return parameters.udp ? collect_udp(parameters) : collect_tcp(parameters);
  }

  Result<std::unique_ptr<Traffic>> collect_tcp(const Parameters& parameters) {
    const Deadline deadline = Deadline::of(kStep, stop_);
    const tcp::Parameters engine = engine_parameters(parameters, true);
    TRY(channel_.send(State::CreateStreams, deadline));
    std::vector<tcp::Connection> streams;
    for (int i = 0; i < connections(parameters); ++i) {
      TRY(peer::PendingConnection stream, queue_.next_stream(deadline));
      TRY(net::apply(tcp::socket_options(engine), stream.fd.get(), stream.from.address.family()));
      streams.push_back({std::move(stream.fd),
                         client_sends(parameters, i) ? tcp::Role::Receive : tcp::Role::Send});
    }
    return TcpTraffic::make(std::move(streams), engine, options_.root,
                            [](const tcp::IntervalMeasure&) {});
  }

  Result<std::unique_ptr<Traffic>> collect_udp(const Parameters& parameters) {
    const Deadline deadline = Deadline::of(kStep, stop_);
    TRY(sys::Descriptor waiting, open_udp(parameters));
    TRY(channel_.send(State::CreateStreams, deadline));
    std::vector<peer::DatagramSocket> streams;
    const int count = connections(parameters);
    for (int i = 0; i < count; ++i) {
      TRY(sys::Descriptor fd, await_greeting(waiting, parameters, i + 1 == count, deadline));
      streams.push_back(
          {std::move(fd), client_sends(parameters, i) ? peer::Role::Receive : peer::Role::Send});
    }
    return std::make_unique<UdpTraffic>(std::move(streams), parameters, true);
  }

  Result<sys::Descriptor> open_udp(const Parameters& parameters) const {
    TRY(const net::Endpoint local, net::local_endpoint(channel_.descriptor()));
    net::SocketOptions socket{.reuse_address = true};
    if (parameters.traffic_class) {
      socket.dscp = *parameters.traffic_class >> 2;
    }
    return net::bind_udp(local, socket);
  }

  // Waits for the client's greeting. The socket that it came to is connected to the sender and
  // becomes the stream's; `waiting` gets a new one for the next stream, unless this is the last.
  Result<sys::Descriptor> await_greeting(sys::Descriptor& waiting, const Parameters& parameters,
                                         bool last, const net::Deadline& deadline) const {
    while (true) {
      // Packets of others may keep coming.
      if (deadline.over()) {
        return fail(ErrorKind::Timeout, "greet", from_.text(), "no greeting came in time");
      }
      TRY(net::wait_for(waiting.get(), POLLIN, deadline, "greet", from_.text()));
      std::array<std::byte, kGreetingBytes + 1> packet{};
      sockaddr_storage source{};
      socklen_t length = sizeof(source);
      const ssize_t got = recvfrom(waiting.get(), packet.data(), packet.size(), MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&source), &length);
      const Result<net::Endpoint> from = net::Endpoint::from_socket(source);
      if (got <= 0 || !from || from->address != from_.address) {
        continue;  // another sender's
      }
      const auto answer = answer_to(std::span(packet).first(static_cast<std::size_t>(got)));
      if (!answer) {
        continue;
      }
      sys::Descriptor stream = std::move(waiting);
      TRY(net::connect_udp(stream.get(), *from));
      if (!last) {
        TRY(waiting, open_udp(parameters));
      }
      TRY(net::send_all(stream.get(), *answer, deadline, from_.text()));
      return stream;
    }
  }

  // Until the client ends the test.
  Result<> flow(const Parameters& parameters, Traffic& traffic) {
    TRY(traffic.begin());
    const bool amount = parameters.bytes > 0 || parameters.blocks > 0;
    const auto longest = amount ? Clock::duration(options_.limits.longest_test)
                                : seconds(parameters.time_s + parameters.omit_s);
    const Deadline deadline = Deadline::of(longest + control::kDrain, stop_);
    while (true) {
      const Result<> readable =
          net::wait_for(channel_.descriptor(), POLLIN, deadline.at_most(control::kTick), "serve",
                        channel_.peer());
      traffic.tick();
      if (readable) {
        return channel_.expect(State::TestEnd, Deadline::of(kStep, stop_));
      }
      if (readable.error().kind != ErrorKind::Timeout || deadline.over()) {
        static_cast<void>(channel_.send(State::ServerTerminate, Deadline::of(kStep)));
        return readable;
      }
    }
  }

  Result<EndResults> exchange(const Parameters& parameters, Traffic& traffic) {
    const Deadline deadline = Deadline::of(kStep, stop_);
    traffic.stop_sending();
    TRY(channel_.send(State::ExchangeResults, deadline));
    TRY(const std::string json, channel_.receive_json(kMaxResultBytes, deadline));
    TRY(const EndResults client, decode_results(json));
    // The client has stopped sending: waits for as much as it reports to have sent, or until no
    // more arrives. With a warm-up (omit) that amount is not known.
    const std::uint64_t expected = parameters.omit_s == 0 && parameters.direction == Direction::Send
                                       ? bytes_of(client)
                                       : ~std::uint64_t{0};
    const Deadline arriving = Deadline::of(kArriving, stop_);
    std::uint64_t before = 0;
    for (int quiet = 0; quiet < kQuietTicks && !arriving.over();) {
      const std::uint64_t now = traffic.received_bytes();
      quiet = now == before ? quiet + 1 : 0;
      before = now;
      if (now >= expected) {
        break;
      }
      poll(nullptr, 0, static_cast<int>(control::kTick.count()));
      traffic.tick();
    }
    traffic.end();
    EndResults own = traffic.results();
    TRY(channel_.send_json(encode(own), deadline));
    TRY(channel_.send(State::DisplayResults, deadline));
    // For the client the test is over: it may start the next one while IPERF_DONE is on its way.
    leave();
    TRY(channel_.expect(State::IperfDone, deadline));
    return own;
  }

  Channel channel_;
  net::Endpoint from_;
  ClientQueue& queue_;
  std::optional<Turn>& turn_;
  const ServerOptions& options_;
  int stop_;
  bool left_ = false;
};

// How many more bytes of the cookie are missing.
std::size_t wants(const std::string& message) {
  return kCookieBytes - std::min(message.size(), kCookieBytes);
}

// What it takes is known once its parameters are.
control::TestQueue::Test test_of(const net::Endpoint& client) {
  const std::string who = "iperf3 by " + client.address.unmapped().text();
  return {.demand = control::Weight::Heavy, .who = who, .owner = who};
}

void run_tests(ClientQueue& queue, const ServerOptions& options, int stop) {
  while (true) {
    Result<peer::PendingConnection> client =
        queue.next_client(Deadline::of(peer::kUntilNextClient, stop));
    if (!client) {
      return;
    }
    const std::string name = client->from.text();
    std::optional<Turn> turn;
    turn.emplace(options.test_queue, test_of(client->from));
    if (const Result<> taken = turn->take(); !taken) {
      turn.reset();
      deny(*client);
      queue.free();
      options.log("iperf3 " + name + ": " + describe(taken.error()));
      continue;
    }
    ServerSession session(std::move(*client), queue, turn, options, stop);
    Result<std::string> done = fail(ErrorKind::Exhausted, "test", "", "no memory is left for it");
    try {
      done = session.run();
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): `done` holds the error
    }
    // Before its connection closes: a client that sees that may start the next test at once.
    session.leave();
    options.log(done ? *done : "iperf3 " + name + ": " + describe(done.error()));
  }
}

}  // namespace

Result<> serve(std::vector<sys::Descriptor> listeners, const ServerOptions& options, int stop) {
  TRY(const std::unique_ptr<ClientQueue> queue, ClientQueue::make());
  TRY(std::thread tests, sys::start_thread("iperf3", [&] { run_tests(*queue, options, stop); }));
  peer::Acceptor acceptor(std::move(listeners),
                          {.wants = wants, .on_ready = [&](peer::PendingConnection connection) {
                             if (is_cookie(std::as_bytes(std::span(connection.received)))) {
                               queue->arrive(std::move(connection));
                             }
                           }});
  const Result<> done = acceptor.run(stop);
  tests.join();
  return done;
}

}  // namespace chokepoint::probe::iperf3
