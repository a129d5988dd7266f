#include "probe/iperf3/client_talk.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>

#include <cerrno>

#include "probe/peer/dial.h"

namespace chokepoint::probe::iperf3 {
namespace {

using net::Patience;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = Patience::Clock;

constexpr seconds kConnect{10};
constexpr seconds kFirstWord{5};
constexpr seconds kAnswer{10};
// How long what was sent may take to arrive.
constexpr seconds kDrain{10};
constexpr seconds kSilence{10};
// Data that is acknowledged still has to be read by the server, which stops reading at once when it
// hears that the test is over.
constexpr milliseconds kServerReads{60};

Result<Cookie> new_cookie() {
  std::array<std::uint8_t, kCookieBytes - 1> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return fail(from_errno(errno, "draw a cookie", "random numbers"));
  }
  return make_cookie(random);
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

}  // namespace

Result<ClientTalk> ClientTalk::begin(const ClientOptions& options) {
  const Patience patience = Patience::of(kConnect, options.interrupt);
  TRY(const Cookie cookie, new_cookie());
  net::SocketOptions socket = options.socket;
  socket.no_delay = true;
  TRY(peer::Dialled dialled,
      peer::dial(options.peer, options.family, socket, "iperf3 -s", patience));
  Channel channel(
      std::move(dialled.fd),
      fmt::format("iperf3 on {} port {}", dialled.peer.address.text(), dialled.peer.port));
  TRY(channel.send(std::as_bytes(std::span(cookie)), patience));
  return ClientTalk(std::move(channel), dialled.peer, cookie, options.interrupt);
}

Result<> ClientTalk::ask(const Parameters& parameters) {
  const Patience patience = Patience::of(kAnswer, interrupt_);
  Result<> done = channel_.expect(State::ParamExchange, Patience::of(kFirstWord, interrupt_));
  if (done) {
    // A server that refuses at once closes, too: what it said before is worth more than that.
    static_cast<void>(channel_.send_json(encode(parameters), patience));
  }
  done = done ? channel_.expect(State::CreateStreams, patience) : done;
  return done ? done : fail(not_iperf3(done.error()));
}

Result<> ClientTalk::start() {
  const Patience patience = Patience::of(kAnswer, interrupt_);
  const Result<> begun = channel_.expect(State::TestStart, patience);
  return begun ? channel_.expect(State::TestRunning, patience) : begun;
}

Result<> ClientTalk::tick(Traffic& traffic) {
  const Result<> heard = net::wait_for(channel_.descriptor(), POLLIN,
                                       Patience::of(kTick, interrupt_), "test", channel_.peer());
  traffic.tick();
  if (!heard) {
    return heard.error().kind == ErrorKind::Timeout ? Result<>{} : heard;
  }
  // The server has nothing to say while the data flows but that it gives up.
  const Result<State> state = channel_.receive(Patience::of(kAnswer));
  return fail(state ? channel_.error_for(*state, Patience::of(kAnswer)) : state.error());
}

bool ClientTalk::over(const Parameters& parameters, const Traffic& traffic,
                      Clock::time_point until) const {
  const bool amount = parameters.bytes > 0 || parameters.blocks > 0;
  if (parameters.way == Way::Forward) {
    return traffic.sent();
  }
  const std::uint64_t most =
      parameters.bytes > 0 ? parameters.bytes
                           : parameters.blocks * static_cast<std::uint64_t>(parameters.block_bytes);
  const bool received =
      amount ? traffic.received_bytes() >= most || traffic.closed() : Clock::now() >= until;
  return received && (parameters.way == Way::Reverse || traffic.sent());
}

Result<bool> ClientTalk::flow(const Parameters& parameters, Traffic& traffic) {
  TRY(traffic.begin());
  const auto until = Clock::now() + seconds(parameters.time_s + parameters.omit_s);
  const bool amount = parameters.bytes > 0 || parameters.blocks > 0;
  const auto give_up = amount ? Clock::time_point::max() : until + kDrain;
  bool interrupted = false;
  std::uint64_t moved = 0;
  auto moved_at = Clock::now();
  while (!over(parameters, traffic, until) && Clock::now() < give_up) {
    if (const std::uint64_t now = traffic.received_bytes(); now != moved) {
      moved = now;
      moved_at = Clock::now();
    }
    // What is lost of an amount never comes.
    if (parameters.way == Way::Reverse && Clock::now() > moved_at + kSilence) {
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
  while (parameters.way != Way::Reverse && Clock::now() < rest) {
    TRY(tick(traffic));
  }
  return interrupted;
}

Result<EndResults> ClientTalk::finish(Traffic& traffic) {
  const Patience patience = Patience::of(kAnswer);
  TRY(channel_.send(State::TestEnd, patience));
  // The server has closed the streams by the time it says so; what it had sent is on its way.
  TRY(channel_.expect(State::ExchangeResults, patience));
  const Patience arriving = Patience::of(seconds(2));
  std::uint64_t before = ~std::uint64_t{0};
  int still = 0;
  while (!traffic.closed() && still < 5 && !arriving.over()) {
    poll(nullptr, 0, static_cast<int>(kTick.count()));
    traffic.tick();
    const std::uint64_t now = traffic.received_bytes();
    still = now == before ? still + 1 : 0;
    before = now;
  }
  traffic.end();
  Result<> done = channel_.send_json(encode(traffic.results()), patience);
  if (!done) {
    return std::unexpected(done.error());
  }
  TRY(const std::string json, channel_.receive_json(kMostResultBytes, patience));
  Result<EndResults> results = decode_results(json);
  done = channel_.expect(State::DisplayResults, patience);
  done = done ? channel_.send(State::IperfDone, patience) : done;
  return results;
}

}  // namespace chokepoint::probe::iperf3
