#include <fmt/format.h>
#include <poll.h>

#include <cmath>

#include "base/net/socket.h"
#include "probe/nuttcp/client.h"
#include "probe/nuttcp/client_talk.h"
#include "probe/nuttcp/formats.h"
#include "probe/nuttcp/marks.h"
#include "probe/nuttcp/tick.h"

namespace chokepoint::probe::nuttcp {
namespace {

using net::Patience;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kArrives{5};
// A server of version 6.1.2 says OK before it has opened the port.
constexpr int kServerOpensMs = 50;
constexpr std::int64_t kSecond = 1'000'000'000;

Result<sys::Descriptor> open_udp(const ClientTalk& talk, const ClientOptions& options,
                                 const Parameters& parameters) {
  const bool sends = parameters.sender == Sender::Client;
  const net::Address any = talk.peer().address.family() == net::Family::Ipv4
                               ? net::Address::v4(in_addr{INADDR_ANY})
                               : net::Address::v6(in6addr_any, 0);
  net::SocketOptions socket = options.socket;
  socket.source = std::nullopt;
  socket.dscp =
      parameters.traffic_class > 0 ? std::optional(parameters.traffic_class >> 2) : std::nullopt;
  const std::uint16_t port = sends ? std::uint16_t{0} : parameters.data_port;
  Result<sys::Descriptor> fd = net::bind_udp({options.socket.source.value_or(any), port}, socket);
  if (fd && sends) {
    const Result<> connected =
        net::connect_udp(fd->get(), {talk.peer().address, parameters.data_port});
    return connected ? std::move(fd) : Result<sys::Descriptor>(std::unexpected(connected.error()));
  }
  return fd;
}

Result<> await_data(int fd, const ClientTalk& talk, const ClientOptions& options) {
  Result<> came =
      await_begin_mark(fd, talk.peer().address, Patience::of(kArrives, options.interrupt));
  if (!came && came.error().kind == ErrorKind::Timeout) {
    came.error().next_step =
        fmt::format("does a firewall let UDP port {} of this host pass?", options.data_port);
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
       .time_ns = parameters.blocks
                      ? 86'400 * kSecond
                      : std::llround(parameters.time_s * static_cast<double>(kSecond)),
       .packets = parameters.blocks},
      format);
}

// Until the sender's time is over, or its mark has come.
bool flow_udp(peer::DatagramMeter& meter, const Parameters& parameters, int interrupt) {
  const bool sends = parameters.sender == Sender::Client;
  const auto longest = std::chrono::duration_cast<milliseconds>(
      std::chrono::duration<double>(parameters.blocks ? 86'400 : parameters.time_s));
  const Patience patience = Patience::of(longest + kClientGrace, interrupt);
  while (!(sends ? meter.sent() : meter.ended()) && !patience.over()) {
    const Result<> ticked = net::wait_for(-1, 0, patience.at_most(kTick), "test", "nuttcp");
    meter.tick();
    if (ticked.error().kind == ErrorKind::Interrupted) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<UdpTest> run_udp(const ClientOptions& options, const Parameters& asked,
                        const peer::DatagramMeter::OnInterval& on_interval) {
  Parameters parameters = asked;
  parameters.udp = true;
  parameters.machine_readable = true;
  parameters.data_port = options.data_port;
  Result<ClientTalk> talk = ClientTalk::begin(options);
  Result<sys::Descriptor> fd = talk ? open_udp(*talk, options, parameters)
                                    : Result<sys::Descriptor>(std::unexpected(talk.error()));
  Result<> agreed = fd ? talk->ask(parameters) : std::unexpected(fd.error());
  if (!agreed) {
    return std::unexpected(agreed.error());
  }
  const bool sends = parameters.sender == Sender::Client;
  const int socket = fd->get();
  if (sends) {
    poll(nullptr, 0, kServerOpensMs);
    agreed = send_begin_marks(socket, options.interrupt);
  } else {
    agreed = await_data(socket, *talk, options);
  }
  peer::DatagramMeter meter(0, on_interval);
  meter.add({std::move(*fd), sends ? peer::Role::Send : peer::Role::Receive}, loop_of(parameters));
  agreed = agreed ? meter.begin() : agreed;
  if (!agreed) {
    return std::unexpected(agreed.error());
  }
  const bool interrupted = flow_udp(meter, parameters, options.interrupt);
  meter.stop(peer::Role::Send);
  const Result<> marked = sends ? send_end_marks(socket, -1) : Result<>{};
  meter.end();
  TRY(const ResultText server, marked ? talk->results() : std::unexpected(marked.error()));
  return UdpTest{.peer = talk->peer(),
                 .version = talk->version(),
                 .interrupted = interrupted,
                 .server = server,
                 .measure = meter.measures().front(),
                 .intervals = meter.intervals()};
}

}  // namespace chokepoint::probe::nuttcp
