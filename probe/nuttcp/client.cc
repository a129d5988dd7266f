#include "probe/nuttcp/client.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>

#include "base/control/deadlines.h"
#include "base/math/units.h"
#include "base/net/socket.h"
#include "probe/nuttcp/protocol.h"
#include "probe/peer/dial.h"
#include "probe/tcp/endpoint.h"

namespace chokepoint::probe::nuttcp {
namespace {

using net::Deadline;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kStreams{3};
constexpr seconds kFirstData{5};
// A test that lasts longer than its own time and this has failed.
constexpr seconds kClientGrace{10};
// After UDP a server still sends its end marks for two seconds.
constexpr seconds kResults{10};
// A server of version 6.1.2 sends OK before it has opened the port.
constexpr int kServerOpensMs = 50;

Error not_nuttcp(Error error, const std::string& peer) {
  error.subject = peer;
  if (error.kind == ErrorKind::Timeout) {
    error.next_step = "is 'nuttcp -S' running there, or another program?";
  }
  return error;
}

// 'chokepoint serve' closes the connection of who greets it as nuttcp does.
Error not_greeted(Error error, const std::string& peer) {
  error = not_nuttcp(std::move(error), peer);
  if (error.kind == ErrorKind::Refused || error.code == ECONNRESET) {
    error.next_step =
        "is 'nuttcp -S' running there? for 'chokepoint serve' leave --peer-program out";
  }
  return error;
}

std::string without_newlines(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, ' ');
  while (!text.empty() && text.back() == ' ') {
    text.pop_back();
  }
  return text;
}

// The client's side of the control connection, as drawn in protocol.h.
class ClientSession {
 public:
  // Connects and greets.
  static Result<ClientSession> begin(const ClientOptions& options) {
    const Deadline deadline = Deadline::of(control::kConnect, options.interrupt);
    TRY(peer::Dialled dialled,
        peer::dial(options.peer, options.family, options.socket, "nuttcp -S", deadline));
    LineChannel channel(
        std::move(dialled.fd),
        fmt::format("nuttcp on {} port {}", dialled.peer.address.text(), dialled.peer.port));
    const Deadline answer = Deadline::of(control::kAnswer, options.interrupt);
    const Result<> greeted = channel.send(hello_line(), answer);
    const Result<std::string> hello =
        greeted ? channel.line(answer) : std::unexpected(greeted.error());
    const Result<Version> version = hello ? read_hello(*hello) : std::unexpected(hello.error());
    if (!version) {
      return fail(not_greeted(version.error(), channel.peer()));
    }
    return ClientSession(std::move(channel), dialled.peer, *version, options.interrupt);
  }

  const net::Endpoint& peer() const { return peer_; }
  const Version& version() const { return version_; }
  const LineChannel& channel() const { return channel_; }

  // Until the server has agreed.
  Result<> ask(const Parameters& parameters) {
    const Deadline deadline = Deadline::of(control::kAnswer, interrupt_);
    const Result<> asked = channel_.send(encode(parameters), deadline);
    const Result<std::string> line =
        asked ? channel_.line(deadline) : std::unexpected(asked.error());
    const Result<Answer> answer = line ? read_answer(*line) : std::unexpected(line.error());
    if (!answer) {
      return fail(not_nuttcp(answer.error(), channel_.peer()));
    }
    if (*answer == Answer::Ok) {
      return {};
    }
    const Result<std::string> why = channel_.line(deadline);
    return fail(ErrorKind::Refused, "", channel_.peer(),
                why ? without_newlines(*why) : "it refuses without a reason");
  }

  Result<ResultText> results() {
    const Result<std::string> text = channel_.rest(kMaxResultText, Deadline::of(kResults));
    Result<ResultText> results = text ? read_results(*text) : std::unexpected(text.error());
    if (!results) {
      return fail(not_nuttcp(results.error(), channel_.peer()));
    }
    return results;
  }

 private:
  ClientSession(LineChannel channel, net::Endpoint peer, const Version& version, int interrupt)
      : channel_(std::move(channel)), peer_(peer), version_(version), interrupt_(interrupt) {}

  LineChannel channel_;
  net::Endpoint peer_;
  Version version_;
  int interrupt_;
};

Result<> check(const tcp::Parameters& asked) {
  if (asked.direction == tcp::Direction::Both) {
    return fail(ErrorKind::Usage, "", "--both", "nuttcp goes in one direction at a time",
                "run --send, then --receive");
  }
  if (asked.omit.count() > 0) {
    return fail(ErrorKind::Usage, "", "--omit", "nuttcp counts from the start");
  }
  return {};
}

Parameters parameters_of(const tcp::Parameters& asked) {
  const bool sends = asked.direction == tcp::Direction::Send;
  Parameters parameters{
      .sender = sends ? Sender::Client : Sender::Server,
      .flipped = !sends,
      .time_s = asked.bytes ? 0 : std::chrono::duration<double>(asked.time).count(),
      .streams = asked.streams,
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

Result<std::vector<tcp::Connection>> open_streams(const ClientSession& session,
                                                  const ClientOptions& options,
                                                  const tcp::Parameters& asked) {
  const Deadline deadline = Deadline::of(kStreams, options.interrupt);
  net::SocketOptions socket = tcp::socket_options(asked);
  socket.source = options.socket.source;
  socket.interface = options.socket.interface;
  const bool sends = asked.direction == tcp::Direction::Send;
  std::vector<tcp::Connection> opened;
  for (int i = 0; i < asked.streams; ++i) {
    const net::Endpoint data{session.peer().address, static_cast<std::uint16_t>(kDataPort + i)};
    Result<sys::Descriptor> fd = peer::dial_soon(data, socket, deadline);
    if (!fd) {
      Error error = fd.error();
      error.subject = fmt::format("nuttcp's data port {}", data.text());
      error.next_step = fmt::format("does a firewall let TCP ports {} and up pass?", kDataPort);
      return fail(std::move(error));
    }
    opened.push_back({std::move(*fd), sends ? tcp::Role::Send : tcp::Role::Receive});
  }
  return opened;
}

// True if the user ended it.
Result<bool> flow(tcp::Endpoint& endpoint, const tcp::Parameters& asked,
                  const ClientOptions& options, const tcp::Watcher& watcher) {
  const auto on_interval = [&](const tcp::IntervalMeasure& interval) {
    watcher(tcp::Side::Client, interval);
  };
  const auto longest = asked.bytes ? std::chrono::nanoseconds(peer::kUntilAmountSent) : asked.time;
  Deadline deadline = Deadline::of(longest + kClientGrace, options.interrupt);
  bool interrupted = false;
  TRY(endpoint.begin());
  while (!endpoint.done()) {
    const Result<> ticked =
        net::wait_for(-1, 0, deadline.at_most(control::kTick), "test", "nuttcp");
    endpoint.tick(on_interval);
    if (ticked.error().kind == ErrorKind::Interrupted) {
      interrupted = true;
      deadline = Deadline::of(kClientGrace);
      endpoint.stop();
    }
    // A server that sends cannot be asked to stop: its connection is closed.
    if (deadline.over() || (interrupted && asked.direction == tcp::Direction::Receive)) {
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

Result<sys::Descriptor> open_udp(const ClientSession& session, const ClientOptions& options,
                                 const Parameters& parameters) {
  const bool sends = parameters.sender == Sender::Client;
  const net::Address any = session.peer().address.family() == net::Family::Ipv4
                               ? net::Address::v4(in_addr{INADDR_ANY})
                               : net::Address::v6(in6addr_any, 0);
  net::SocketOptions socket = options.socket;
  socket.source = std::nullopt;
  socket.dscp =
      parameters.traffic_class > 0 ? std::optional(parameters.traffic_class >> 2) : std::nullopt;
  const std::uint16_t port = sends ? std::uint16_t{0} : parameters.data_port;
  TRY(sys::Descriptor fd, net::bind_udp({options.socket.source.value_or(any), port}, socket));
  if (sends) {
    TRY(net::connect_udp(fd.get(), {session.peer().address, parameters.data_port}));
  }
  return fd;
}

Result<> await_data(int fd, const ClientSession& session, const ClientOptions& options) {
  Result<> came =
      await_begin_mark(fd, session.peer().address, Deadline::of(kFirstData, options.interrupt));
  if (!came && came.error().kind == ErrorKind::Timeout) {
    came.error().next_step =
        fmt::format("does a firewall let UDP port {} of this host pass?", kDataPort);
  }
  return came;
}

peer::DatagramStream::Loop loop_of(const Parameters& parameters) {
  const DatagramFormat format{.counts = parameters.interval_s > 0};
  if (parameters.sender == Sender::Server) {
    return peer::receiving(format);
  }
  return peer::sending(
      {.bytes = static_cast<std::size_t>(parameters.block_bytes),
       .bits_per_second = static_cast<double>(parameters.rate_kbits_per_s.value_or(0)) * 1e3,
       .time_ns = parameters.blocks ? std::chrono::nanoseconds(peer::kUntilAmountSent).count()
                                    : std::llround(parameters.time_s * math::kNsPerSecond),
       .packets = parameters.blocks},
      format);
}

// Until the sender's time is over, or its end mark has come. True if the user ended it.
bool flow_udp(peer::DatagramMeter& meter, const Parameters& parameters, int interrupt) {
  const bool sends = parameters.sender == Sender::Client;
  const auto longest = parameters.blocks ? milliseconds(peer::kUntilAmountSent)
                                         : std::chrono::duration_cast<milliseconds>(
                                               std::chrono::duration<double>(parameters.time_s));
  const Deadline deadline = Deadline::of(longest + kClientGrace, interrupt);
  while (!(sends ? meter.sent() : meter.ended()) && !deadline.over()) {
    const Result<> ticked =
        net::wait_for(-1, 0, deadline.at_most(control::kTick), "test", "nuttcp");
    meter.tick();
    if (ticked.error().kind == ErrorKind::Interrupted) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<TcpTest> run_tcp(const ClientOptions& options, const tcp::Parameters& asked,
                        const tcp::Watcher& watcher) {
  TRY(check(asked));
  TRY(ClientSession session, ClientSession::begin(options));
  TRY(session.ask(parameters_of(asked)));
  TRY(std::vector<tcp::Connection> opened, open_streams(session, options, asked));
  TRY(const std::unique_ptr<tcp::Endpoint> endpoint,
      tcp::Endpoint::make(std::move(opened), asked, options.root));
  TRY(const bool interrupted, flow(*endpoint, asked, options, watcher));
  TRY(const ResultText server, session.results());
  tcp::Half own = endpoint->half();
  for (tcp::StreamMeasure& stream : own.streams) {
    // nuttcp closes all streams when the first of them ends.
    stream.error.clear();
  }
  tcp::Half theirs = half_of(server, asked, own);
  return TcpTest{.peer = session.peer(),
                 .version = session.version(),
                 .test = {.parameters = asked,
                          .client = std::move(own),
                          .server = std::move(theirs),
                          .interrupted = interrupted}};
}

Result<UdpTest> run_udp(const ClientOptions& options, const Parameters& asked) {
  Parameters parameters = asked;
  parameters.udp = true;
  parameters.machine_readable = true;
  TRY(ClientSession session, ClientSession::begin(options));
  TRY(sys::Descriptor fd, open_udp(session, options, parameters));
  TRY(session.ask(parameters));
  const bool sends = parameters.sender == Sender::Client;
  const int socket = fd.get();
  if (sends) {
    poll(nullptr, 0, kServerOpensMs);
    TRY(send_begin_marks(socket, options.interrupt));
  } else {
    TRY(await_data(socket, session, options));
  }
  peer::DatagramMeter meter(0);
  meter.add({std::move(fd), sends ? peer::Role::Send : peer::Role::Receive}, loop_of(parameters));
  TRY(meter.begin());
  const bool interrupted = flow_udp(meter, parameters, options.interrupt);
  meter.stop(peer::Role::Send);
  const Result<> marked = sends ? send_end_marks(socket, -1) : Result<>{};
  meter.end();
  TRY(marked);
  TRY(const ResultText server, session.results());
  return UdpTest{.peer = session.peer(),
                 .version = session.version(),
                 .interrupted = interrupted,
                 .server = server,
                 .measure = meter.measures().front()};
}

}  // namespace chokepoint::probe::nuttcp
