#include "probe/iperf3/server_talk.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/net/socket.h"
#include "probe/iperf3/datagram.h"
#include "probe/iperf3/tcp_traffic.h"
#include "probe/iperf3/udp_traffic.h"

namespace chokepoint::probe::iperf3 {
namespace {

using net::Patience;
using std::chrono::seconds;
using Clock = Patience::Clock;

// Of one step of the handshake.
constexpr seconds kStep{5};
// What an iperf3 server waits beyond the test's own time.
constexpr seconds kGrace{40};
// How long data may still be on its way when the client has said that it is over.
constexpr seconds kArriving{3};
constexpr int kQuietTicks = 3;

int connections(const Parameters& parameters) {
  return parameters.way == Way::Both ? 2 * parameters.streams : parameters.streams;
}

// The client's senders come first.
bool server_sends(const Parameters& parameters, int index) {
  return parameters.way == Way::Reverse ||
         (parameters.way == Way::Both && index >= parameters.streams);
}

Result<> check(const Parameters& parameters, const control::Limits& limits) {
  Result<> granted =
      control::check_time(limits, seconds(parameters.time_s) + seconds(parameters.omit_s));
  granted = granted ? control::check_streams(limits, connections(parameters)) : granted;
  return granted ? control::check_rate(
                       limits, static_cast<double>(parameters.rate_bits_per_s) * parameters.streams)
                 : granted;
}

Refusal refusal_for(const Error& error) {
  switch (error.kind) {
    case ErrorKind::Unsupported:
      return Refusal::Protocol;
    case ErrorKind::Usage:
      return Refusal::TooLong;
    case ErrorKind::NotFound:
      return Refusal::Congestion;
    default:
      return Refusal::BadParameters;
  }
}

std::uint64_t expected_bytes(const EndResults& client) {
  std::uint64_t sum = 0;
  for (const StreamResult& stream : client.streams) {
    sum += stream.bytes;
  }
  return sum;
}

}  // namespace

ServerTalk::ServerTalk(peer::Visitor client, Lobby& lobby, const ServerOptions& options, int stop)
    : channel_(std::move(client.fd), client.from.text()),
      from_(client.from),
      lobby_(lobby),
      options_(options),
      stop_(stop) {}

void ServerTalk::leave() {
  if (!left_) {
    left_ = true;
    lobby_.free();
  }
}

Result<std::string> ServerTalk::converse() {
  TRY(const Parameters parameters, hear_parameters());
  const Result<std::unique_ptr<Traffic>> traffic = collect(parameters);
  if (!traffic) {
    static_cast<void>(refuse(traffic.error()));
    return std::unexpected(traffic.error());
  }
  Result<> done = channel_.send(State::TestStart, Patience::of(kStep, stop_));
  done = done ? channel_.send(State::TestRunning, Patience::of(kStep, stop_)) : done;
  done = done ? flow(parameters, **traffic) : done;
  if (!done) {
    return std::unexpected(done.error());
  }
  TRY(const EndResults own, exchange(parameters, **traffic));
  return fmt::format("iperf3 {}: {} {}, {} stream(s), {} bytes here", from_.text(),
                     parameters.client_version,
                     parameters.transport == Transport::Udp ? "UDP" : "TCP", own.streams.size(),
                     expected_bytes(own));
}

Result<Parameters> ServerTalk::hear_parameters() {
  const Patience patience = Patience::of(kStep, stop_);
  const Result<> asked = channel_.send(State::ParamExchange, patience);
  TRY(const std::string json, asked ? channel_.receive_json(kMostParameterBytes, patience)
                                    : std::unexpected(asked.error()));
  Result<Parameters> parameters = decode_parameters(json);
  const Result<> granted =
      parameters ? check(*parameters, options_.limits) : std::unexpected(parameters.error());
  if (!granted) {
    static_cast<void>(refuse(granted.error()));
    return std::unexpected(granted.error());
  }
  if (parameters->rate_bits_per_s == 0 && options_.limits.rate_bits_per_s) {
    parameters->rate_bits_per_s =
        static_cast<std::uint64_t>(*options_.limits.rate_bits_per_s / connections(*parameters));
  }
  return parameters;
}

Result<> ServerTalk::refuse(const Error& error) {
  return channel_.send(
      ServerError{.code = static_cast<std::int32_t>(refusal_for(error)), .system_code = error.code},
      Patience::of(kStep, stop_));
}

Result<std::unique_ptr<Traffic>> ServerTalk::collect(const Parameters& parameters) {
  return parameters.transport == Transport::Udp ? collect_udp(parameters) : collect_tcp(parameters);
}

Result<std::unique_ptr<Traffic>> ServerTalk::collect_tcp(const Parameters& parameters) {
  const Patience patience = Patience::of(kStep, stop_);
  const tcp::Parameters engine = engine_parameters(parameters, true);
  TRY(channel_.send(State::CreateStreams, patience));
  std::vector<tcp::Connection> streams;
  for (int i = 0; i < connections(parameters); ++i) {
    Result<peer::Visitor> stream = lobby_.next_stream(patience);
    TRY(stream ? net::apply(tcp::socket_options(engine), stream->fd.get(),
                            stream->from.address.family())
               : std::unexpected(stream.error()));
    streams.push_back({std::move(stream->fd),
                       server_sends(parameters, i) ? tcp::Role::Send : tcp::Role::Receive});
  }
  return TcpTraffic::make(std::move(streams), engine, options_.root,
                          [](const tcp::IntervalMeasure&) {});
}

Result<sys::Descriptor> ServerTalk::open_udp(const Parameters& parameters) const {
  TRY(const net::Endpoint local, net::local_endpoint(channel_.descriptor()));
  net::SocketOptions socket{.reuse_address = true};
  if (parameters.traffic_class) {
    socket.dscp = *parameters.traffic_class >> 2;
  }
  return net::bind_udp(local, socket);
}

// The client's greeting on a socket of its own: connected to who greeted, while another one waits
// for the next stream.
Result<sys::Descriptor> ServerTalk::greeted(sys::Descriptor& waiting, const Parameters& parameters,
                                            bool last, const Patience& patience) const {
  while (true) {
    TRY(net::wait_for(waiting.get(), POLLIN, patience, "greet", from_.text()));
    std::array<std::byte, kGreetingBytes + 1> packet{};
    sockaddr_storage source{};
    socklen_t length = sizeof(source);
    const ssize_t got = recvfrom(waiting.get(), packet.data(), packet.size(), MSG_DONTWAIT,
                                 reinterpret_cast<sockaddr*>(&source), &length);
    const Result<net::Endpoint> from = net::Endpoint::from_socket(source);
    if (got <= 0 || !from || from->address != from_.address) {
      continue;  // a stranger's
    }
    const auto answer = answer_to(std::span(packet).first(static_cast<std::size_t>(got)));
    if (!answer) {
      continue;
    }
    sys::Descriptor stream = std::move(waiting);
    TRY(net::connect_udp(stream.get(), *from));
    if (!last) {
      Result<sys::Descriptor> next = open_udp(parameters);
      if (!next) {
        return next;
      }
      waiting = std::move(*next);
    }
    const Result<> said = net::send_all(stream.get(), *answer, patience, from_.text());
    return said ? Result<sys::Descriptor>(std::move(stream)) : std::unexpected(said.error());
  }
}

Result<std::unique_ptr<Traffic>> ServerTalk::collect_udp(const Parameters& parameters) {
  const Patience patience = Patience::of(kStep, stop_);
  Result<sys::Descriptor> waiting = open_udp(parameters);
  TRY(waiting ? channel_.send(State::CreateStreams, patience) : std::unexpected(waiting.error()));
  std::vector<peer::DatagramSocket> streams;
  const int count = connections(parameters);
  for (int i = 0; i < count; ++i) {
    TRY(sys::Descriptor fd, greeted(*waiting, parameters, i + 1 == count, patience));
    streams.push_back(
        {std::move(fd), server_sends(parameters, i) ? peer::Role::Send : peer::Role::Receive});
  }
  return std::make_unique<UdpTraffic>(std::move(streams), parameters, true,
                                      [](const peer::DatagramInterval&) {});
}

Result<> ServerTalk::flow(const Parameters& parameters, Traffic& traffic) {
  if (const Result<> begun = traffic.begin(); !begun) {
    return begun;
  }
  const bool amount = parameters.bytes > 0 || parameters.blocks > 0;
  const auto longest = amount ? Clock::duration(options_.limits.longest_test)
                              : seconds(parameters.time_s + parameters.omit_s);
  const Patience patience = Patience::of(longest + kGrace, stop_);
  while (true) {
    const Result<> heard = net::wait_for(channel_.descriptor(), POLLIN, patience.at_most(kTick),
                                         "serve", channel_.peer());
    traffic.tick();
    if (heard) {
      return channel_.expect(State::TestEnd, Patience::of(kStep, stop_));
    }
    if (heard.error().kind != ErrorKind::Timeout || patience.over()) {
      static_cast<void>(channel_.send(State::ServerTerminate, Patience::of(kStep)));
      return heard;
    }
  }
}

Result<EndResults> ServerTalk::exchange(const Parameters& parameters, Traffic& traffic) {
  const Patience patience = Patience::of(kStep, stop_);
  traffic.stop_sending();
  const Result<> told = channel_.send(State::ExchangeResults, patience);
  const Result<std::string> json =
      told ? channel_.receive_json(kMostResultBytes, patience) : std::unexpected(told.error());
  const Result<EndResults> client = json ? decode_results(*json) : std::unexpected(json.error());
  if (!client) {
    return client;
  }
  // The client has stopped sending; what it says it sent is waited for, unless nothing comes any
  // more. With a warm-up nobody knows how much that is.
  const std::uint64_t expected = parameters.omit_s == 0 && parameters.way == Way::Forward
                                     ? expected_bytes(*client)
                                     : ~std::uint64_t{0};
  const Patience arriving = Patience::of(kArriving, stop_);
  std::uint64_t before = 0;
  for (int quiet = 0; quiet < kQuietTicks && !arriving.over();) {
    const std::uint64_t now = traffic.received_bytes();
    quiet = now == before ? quiet + 1 : 0;
    before = now;
    if (now >= expected) {
      break;
    }
    poll(nullptr, 0, static_cast<int>(kTick.count()));
    traffic.tick();
  }
  traffic.end();
  EndResults own = traffic.results();
  Result<> done = channel_.send_json(encode(own), patience);
  done = done ? channel_.send(State::DisplayResults, patience) : done;
  // For the client the test is over: the next one may come while its goodbye is on its way.
  leave();
  done = done ? channel_.expect(State::IperfDone, patience) : done;
  return done ? Result<EndResults>(std::move(own)) : std::unexpected(done.error());
}

}  // namespace chokepoint::probe::iperf3
