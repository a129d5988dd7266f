#include "probe/iperf3/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <string>

#include "base/control/deadlines.h"
#include "base/net/deadline.h"
#include "base/net/socket.h"
#include "probe/iperf3/channel.h"
#include "probe/iperf3/protocol.h"
#include "probe/iperf3/traffic.h"
#include "probe/peer/dial.h"

namespace chokepoint::probe::iperf3 {
namespace {

using net::Deadline;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = Deadline::Clock;

constexpr seconds kFirstState{5};
constexpr seconds kOpenStreams{10};
// What was sent must arrive within this time.
constexpr seconds kSentMustArrive{10};
// A server that sends nothing for so long has failed.
constexpr seconds kMaxPause{10};
constexpr seconds kLateData{2};
// Data that is acknowledged still has to be read by the server, which stops reading at once when
// the client ends the test.
constexpr milliseconds kServerReads{60};
// How often to look whether the last of the data has been acknowledged.
constexpr milliseconds kFineTick{1};
// Greetings get lost like any datagram.
constexpr milliseconds kGreetAgain{1000};

Result<Cookie> new_cookie() {
  std::array<std::uint8_t, kCookieBytes - 1> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return fail(from_errno(errno, "draw a cookie", "random numbers"));
  }
  return make_cookie(random);
}

// A server that asks for a user closes when the parameters have none, without a state.
Error without_user(Error error) {
  if (error.kind == ErrorKind::Refused && error.operation == "receive") {
    error.reason = "it closed the connection when it had the parameters";
    error.next_step = "is it started with --authorized-users-path? chokepoint has no user there";
  }
  return error;
}

Error not_iperf3(Error error) {
  if (error.kind == ErrorKind::Timeout) {
    error.next_step = "is 'iperf3 -s' running there, or another program?";
  } else if (error.kind == ErrorKind::Refused && error.next_step.empty() &&
             error.operation == "receive") {
    error.next_step = "is 'iperf3 -s' running there? it closed the connection without a word";
  }
  return error;
}

// The client's side of an iperf3 test, step by step as drawn in protocol.h, whatever its data is.
// Owns the control connection.
class ClientSession {
 public:
  // Connects and sends the cookie.
  static Result<ClientSession> begin(const ClientOptions& options) {
    const Deadline deadline = Deadline::of(control::kConnect, options.interrupt);
    TRY(const Cookie cookie, new_cookie());
    net::SocketOptions socket = options.socket;
    socket.no_delay = true;
    TRY(peer::Dialled dialled,
        peer::dial(options.peer, options.family, socket, "iperf3 -s", deadline));
    Channel channel(
        std::move(dialled.fd),
        fmt::format("iperf3 on {} port {}", dialled.peer.address.text(), dialled.peer.port));
    TRY(channel.send(std::as_bytes(std::span(cookie)), deadline));
    return ClientSession(std::move(channel), dialled.peer, cookie, options.interrupt);
  }

  const net::Endpoint& peer() const { return peer_; }
  const Cookie& cookie() const { return cookie_; }

  // Until the server wants the streams.
  Result<> ask(const Parameters& parameters) {
    const Deadline deadline = Deadline::of(control::kAnswer, interrupt_);
    const Result<> greeted =
        channel_.expect(State::ParamExchange, Deadline::of(kFirstState, interrupt_));
    if (!greeted) {
      return fail(not_iperf3(greeted.error()));
    }
    // A server that refuses at once closes, too: its error is worth more than that of sending.
    static_cast<void>(channel_.send_json(encode(parameters), deadline));
    const Result<> accepted = channel_.expect(State::CreateStreams, deadline);
    return accepted ? accepted : fail(not_iperf3(without_user(accepted.error())));
  }

  // Until the server lets the data flow.
  Result<> start() {
    const Deadline deadline = Deadline::of(control::kAnswer, interrupt_);
    TRY(channel_.expect(State::TestStart, deadline));
    return channel_.expect(State::TestRunning, deadline);
  }

  // The data, until the test is over by time, by amount or by the user, and everything that was
  // sent has arrived as far as can be known. True if the user ended it.
  Result<bool> flow(const Parameters& parameters, Traffic& traffic) {
    TRY(traffic.begin());
    begun_ = Clock::now();
    const auto until = begun_ + seconds(parameters.time_s + parameters.omit_s);
    const bool amount = parameters.bytes > 0 || parameters.blocks > 0;
    const auto give_up = amount ? Clock::time_point::max() : until + kSentMustArrive;
    bool interrupted = false;
    std::uint64_t moved = 0;
    auto moved_at = Clock::now();
    while (!over(parameters, traffic, until) && Clock::now() < give_up) {
      if (const std::uint64_t now = traffic.received_bytes(); now != moved) {
        moved = now;
        moved_at = Clock::now();
      }
      // What is lost of an amount never arrives.
      if (parameters.direction == Direction::Receive && Clock::now() > moved_at + kMaxPause) {
        break;
      }
      const Result<> ticked = tick(traffic);
      if (!ticked && ticked.error().kind != ErrorKind::Interrupted) {
        return std::unexpected(ticked.error());
      }
      if (!ticked) {
        interrupted = true;
        interrupt_ = -1;
        traffic.stop_sending();
        break;
      }
    }
    const auto rest = Clock::now() + kServerReads;
    while (parameters.direction != Direction::Receive && Clock::now() < rest) {
      TRY(tick(traffic));
    }
    return interrupted;
  }

  // Seconds of flow() after which everything that this end sent had been acknowledged.
  std::optional<double> delivered_s() const { return delivered_s_; }

  Result<EndResults> finish(Traffic& traffic) {
    const Deadline deadline = Deadline::of(control::kAnswer);
    TRY(channel_.send(State::TestEnd, deadline));
    // The server has closed its streams before that; what it had sent may still arrive.
    TRY(channel_.expect(State::ExchangeResults, deadline));
    const Deadline arriving = Deadline::of(kLateData);
    std::uint64_t before = ~std::uint64_t{0};
    int still = 0;
    while (!traffic.closed() && still < 5 && !arriving.over()) {
      poll(nullptr, 0, static_cast<int>(control::kTick.count()));
      traffic.tick();
      const std::uint64_t now = traffic.received_bytes();
      still = now == before ? still + 1 : 0;
      before = now;
    }
    traffic.end();
    TRY(channel_.send_json(encode(traffic.results()), deadline));
    TRY(const std::string json, channel_.receive_json(kMaxResultBytes, deadline));
    Result<EndResults> results = decode_results(json);
    // The results are here: an error from now on does not matter.
    if (channel_.expect(State::DisplayResults, deadline)) {
      static_cast<void>(channel_.send(State::IperfDone, deadline));
    }
    return results;
  }

 private:
  ClientSession(Channel channel, net::Endpoint peer, const Cookie& cookie, int interrupt)
      : channel_(std::move(channel)), peer_(peer), cookie_(cookie), interrupt_(interrupt) {}

  // Waits a tick. An error if the server sends a state meanwhile.
  Result<> tick(Traffic& traffic) {
    const Deadline deadline = Deadline::of(control::kTick, interrupt_);
    Result<> readable;
    do {
      const bool draining = !delivered_s_ && traffic.sending_over();
      readable = net::wait_for(channel_.descriptor(), POLLIN,
                               deadline.at_most(draining ? kFineTick : control::kTick), "test",
                               channel_.peer());
      if (draining && traffic.sent()) {
        delivered_s_ = std::chrono::duration<double>(Clock::now() - begun_).count();
      }
    } while (!readable && readable.error().kind == ErrorKind::Timeout && !deadline.over());
    traffic.tick();
    if (!readable) {
      return readable.error().kind == ErrorKind::Timeout ? Result<>{} : readable;
    }
    // While the data flows the server sends a state only if it gives up.
    const Result<State> state = channel_.receive(Deadline::of(control::kAnswer));
    return fail(state ? channel_.error_for(*state, Deadline::of(control::kAnswer)) : state.error());
  }

  bool over(const Parameters& parameters, const Traffic& traffic,
            net::Deadline::Clock::time_point until) const {
    const bool amount = parameters.bytes > 0 || parameters.blocks > 0;
    if (parameters.direction == Direction::Send) {
      return traffic.sent();
    }
    const std::uint64_t most =
        parameters.bytes > 0
            ? parameters.bytes
            : parameters.blocks * static_cast<std::uint64_t>(parameters.block_bytes);
    const bool received =
        amount ? traffic.received_bytes() >= most || traffic.closed() : Clock::now() >= until;
    return received && (parameters.direction == Direction::Receive || traffic.sent());
  }

  Channel channel_;
  net::Endpoint peer_;
  Cookie cookie_;
  int interrupt_;
  Clock::time_point begun_ = {};
  std::optional<double> delivered_s_ = {};
};

int whole_seconds(std::chrono::nanoseconds time) {
  return static_cast<int>(std::chrono::ceil<seconds>(time).count());
}

// In whole seconds: iperf3 knows no others.
Parameters parameters_of(const tcp::Parameters& asked) {
  Parameters parameters{.direction = asked.direction,
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

Result<std::vector<tcp::Connection>> open_tcp(const ClientSession& session,
                                              const ClientOptions& options,
                                              const Parameters& parameters,
                                              const tcp::Parameters& asked) {
  const Deadline deadline = Deadline::of(kOpenStreams, options.interrupt);
  net::SocketOptions socket = tcp::socket_options(asked);
  socket.source = options.socket.source;
  socket.interface = options.socket.interface;
  std::vector<tcp::Connection> opened;
  for (int i = 0; i < connections(parameters); ++i) {
    TRY(sys::Descriptor fd, net::connect(session.peer(), socket, deadline));
    TRY(net::send_all(fd.get(), std::as_bytes(std::span(session.cookie())), deadline,
                      session.peer().text()));
    opened.push_back(
        {std::move(fd), client_sends(parameters, i) ? tcp::Role::Send : tcp::Role::Receive});
  }
  return opened;
}

// What the server measured, in this program's terms; its roles are the opposite ones. As a receiver
// it counts the time until it receives TEST_END, which this end sends a while after
// everything has arrived: `delivered_s` ends it there.
tcp::Half half_of(const EndResults& server, const std::vector<tcp::StreamMeasure>& own,
                  const std::optional<double>& delivered_s) {
  tcp::Half half{.host = {.cpu_percent = server.cpu_percent}};
  for (const tcp::StreamMeasure& mine : own) {
    const StreamResult* theirs = server.find(stream_id(mine.index));
    const tcp::Role role = mine.role == tcp::Role::Send ? tcp::Role::Receive : tcp::Role::Send;
    const StreamResult known = theirs == nullptr ? StreamResult{} : *theirs;
    const double receiving_s = std::min(known.end_s, delivered_s.value_or(known.end_s));
    half.streams.push_back(
        {.role = role,
         .index = mine.index,
         .total_bytes = known.bytes,
         .bytes = known.bytes,
         .start_s = known.start_s,
         .end_s = role == tcp::Role::Receive ? receiving_s : known.end_s,
         .retransmits = role == tcp::Role::Send && known.retransmits >= 0
                            ? std::optional(static_cast<std::uint64_t>(known.retransmits))
                            : std::nullopt,
         .congestion = server.congestion});
  }
  return half;
}

Result<sys::Descriptor> greet(const ClientSession& session, net::SocketOptions socket,
                              const Deadline& deadline) {
  const net::Address any = session.peer().address.family() == net::Family::Ipv4
                               ? net::Address::v4(in_addr{INADDR_ANY})
                               : net::Address::v6(in6addr_any, 0);
  const net::Endpoint local{socket.source.value_or(any), 0};
  socket.source = std::nullopt;
  TRY(sys::Descriptor fd, net::bind_udp(local, socket));
  TRY(net::connect_udp(fd.get(), session.peer()));
  while (true) {
    TRY(net::send_all(fd.get(), greeting(), deadline, session.peer().text()));
    // In reverse the first data may overtake the answer.
    const Deadline until = deadline.at_most(kGreetAgain);
    std::array<std::byte, 2048> packet{};
    while (!until.over()) {
      const Result<std::size_t> got =
          net::receive_some(fd.get(), packet, until, session.peer().text());
      if (got && is_answer(std::span(packet).first(*got))) {
        return fd;
      }
      if (!got && got.error().kind != ErrorKind::Timeout) {
        return std::unexpected(got.error());
      }
    }
    if (deadline.over()) {
      return fail(ErrorKind::Timeout, "",
                  fmt::format("{} UDP port {}", session.peer().address.text(), session.peer().port),
                  "iperf3 answers over TCP, but not over UDP", "does a firewall let UDP pass?");
    }
  }
}

Result<std::vector<peer::DatagramSocket>> open_udp(const ClientSession& session,
                                                   const ClientOptions& options,
                                                   const Parameters& parameters) {
  const Deadline deadline = Deadline::of(kOpenStreams, options.interrupt);
  net::SocketOptions socket = options.socket;
  if (parameters.traffic_class) {
    socket.dscp = *parameters.traffic_class >> 2;
  }
  std::vector<peer::DatagramSocket> opened;
  for (int i = 0; i < connections(parameters); ++i) {
    TRY(sys::Descriptor fd, greet(session, socket, deadline));
    opened.push_back(
        {std::move(fd), client_sends(parameters, i) ? peer::Role::Send : peer::Role::Receive});
  }
  return opened;
}

// The test once its streams are open. True if the user ended it.
Result<bool> conduct(ClientSession& session, const Parameters& parameters, Traffic& traffic,
                     EndResults& server) {
  TRY(session.start());
  TRY(const bool interrupted, session.flow(parameters, traffic));
  TRY(server, session.finish(traffic));
  return interrupted;
}

}  // namespace

Result<TcpTest> run_tcp(const ClientOptions& options, const tcp::Parameters& asked,
                        const tcp::Watcher& watcher) {
  const Parameters parameters = parameters_of(asked);
  TRY(ClientSession session, ClientSession::begin(options));
  TRY(session.ask(parameters));
  tcp::Parameters engine = engine_parameters(parameters, false);
  engine.interval = asked.interval;
  engine.zero_copy = asked.zero_copy;
  TRY(std::vector<tcp::Connection> opened, open_tcp(session, options, parameters, engine));
  TRY(const std::unique_ptr<TcpTraffic> traffic,
      TcpTraffic::make(
          std::move(opened), engine, options.root,
          [&](const tcp::IntervalMeasure& interval) { watcher(tcp::Side::Client, interval); }));
  EndResults server;
  TRY(const bool interrupted, conduct(session, parameters, *traffic, server));
  tcp::Half own = traffic->half();
  std::optional<double> delivered_s = session.delivered_s();
  if (delivered_s) {
    *delivered_s = std::max(*delivered_s - parameters.omit_s, 0.0);
  }
  tcp::Half theirs = half_of(server, own.streams, delivered_s);
  return TcpTest{.peer = session.peer(),
                 .test = {.parameters = asked,
                          .client = std::move(own),
                          .server = std::move(theirs),
                          .interrupted = interrupted}};
}

Result<UdpTest> run_udp(const ClientOptions& options, const Parameters& parameters) {
  TRY(ClientSession session, ClientSession::begin(options));
  TRY(session.ask(parameters));
  TRY(std::vector<peer::DatagramSocket> opened, open_udp(session, options, parameters));
  UdpTraffic traffic(std::move(opened), parameters, false);
  EndResults server;
  TRY(const bool interrupted, conduct(session, parameters, traffic, server));
  return UdpTest{.peer = session.peer(),
                 .interrupted = interrupted,
                 .server = std::move(server),
                 .measures = traffic.meter().measures()};
}

}  // namespace chokepoint::probe::iperf3
