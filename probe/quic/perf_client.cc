#include "probe/quic/perf_client.h"

#include <fmt/format.h>

#include <utility>

#include "base/control/deadlines.h"
#include "base/math/units.h"
#include "base/net/resolver.h"
#include "base/net/socket.h"
#include "base/sys/descriptor.h"
#include "probe/quic/connection.h"
#include "probe/quic/endpoint.h"
#include "probe/quic/socket.h"

namespace chokepoint::probe::quic {
namespace {

using net::Deadline;
using std::chrono::seconds;

constexpr seconds kPerAddress{6};

Error perf_error(ErrorKind kind, const net::Endpoint& peer, std::string_view reason,
                 std::string_view next_step) {
  return {.kind = kind,
          .operation = "",
          .subject = fmt::format("{} UDP port {}", peer.address.text(), peer.port),
          .reason = std::string(reason),
          .next_step = std::string(next_step)};
}

class PerfClient {
 public:
  PerfClient(Endpoint& endpoint, const net::Endpoint& peer, const Parameters& parameters,
             int interrupt)
      : endpoint_(endpoint), peer_(peer), parameters_(parameters), interrupt_(interrupt) {}

  // How long the handshake took, ms.
  Result<double> connect(const std::string& name) {
    TRY(endpoint_.connect({.certificate = {}, .name = name}, nullptr));
    const Deadline deadline = Deadline::of(kPerAddress, interrupt_);
    const std::int64_t start = clock_ns();
    while (!endpoint_.connection()->is_ready()) {
      if (sys::is_readable(interrupt_)) {
        return fail(ErrorKind::Interrupted, "quic", "test", "interrupted before it began");
      }
      const Result<> turned = endpoint_.turn(kTick, interrupt_);
      if (endpoint_.socket().is_refused()) {
        return fail(perf_error(ErrorKind::Refused, peer_, "connection refused",
                               "does a server of QUIC's protocol perf run there?"));
      }
      if ((!turned && turned.error().kind == ErrorKind::Timeout) || deadline.over()) {
        return fail(
            perf_error(ErrorKind::Timeout, peer_, "no answer",
                       "does a server of QUIC's protocol perf run there, and does a firewall let "
                       "UDP pass?"));
      }
      TRY(turned);
      TRY(check_open());
    }
    return static_cast<double>(clock_ns() - start) / math::kNsPerMs;
  }

  // True where the user interrupted it.
  Result<bool> conduct(const Watcher& watcher) {
    const Deadline deadline = Deadline::of(parameters_.time + control::kDrain);
    endpoint_.begin(client_sends(parameters_), server_sends(parameters_));
    TRY(endpoint_.start());
    for (Ticker ticker; true;) {
      TRY(endpoint_.turn(kTick, interrupt_));
      if (!ticker.is_due()) {
        continue;
      }
      endpoint_.tick([&](const IntervalMeasure& each) { watcher(Side::Client, each); });
      if (endpoint_.is_done() || sys::is_readable(interrupt_)) {
        break;
      }
      TRY(check_open());
      if (deadline.over()) {
        return fail(
            perf_error(ErrorKind::Timeout, peer_, "what was sent did not arrive in time", ""));
      }
    }
    endpoint_.stop();
    return !endpoint_.is_done();
  }

 private:
  Result<> check_open() const {
    const Connection& connection = *endpoint_.connection();
    if (!connection.is_closed()) {
      return {};
    }
    const std::string reason = connection.close_reason();
    return fail(perf_error(ErrorKind::Refused, peer_,
                           "it closed the QUIC connection" + (reason.empty() ? "" : ": " + reason),
                           reason.starts_with("TLS") ? "does its server speak perf?" : ""));
  }

  Endpoint& endpoint_;
  net::Endpoint peer_;
  const Parameters& parameters_;
  int interrupt_;
};

Result<Socket> socket_to(const net::Endpoint& peer, const peer::ClientOptions& host,
                         const Parameters& parameters) {
  const char* any = peer.address.family() == net::Family::Ipv4 ? "0.0.0.0" : "::";
  const net::Address local = host.socket.source.value_or(net::Address::parse(any).value());
  TRY(sys::Descriptor fd, net::bind_udp({.address = local, .port = 0}, host.socket));
  TRY(net::connect_udp(fd.get(), peer));
  return Socket::adopt(std::move(fd), parameters.segmentation);
}

Result<Trial> trial_over(Endpoint& endpoint, const net::Endpoint& peer,
                         const peer::ClientOptions& host, const Parameters& parameters,
                         const Watcher& watcher) {
  PerfClient client(endpoint, peer, parameters, host.interrupt);
  Trial trial{.parameters = parameters, .is_foreign = true};
  const bool is_address = net::Address::parse(host.peer.host).has_value();
  TRY(trial.times.handshake_ms, client.connect(is_address ? "" : host.peer.host));
  TRY(trial.interrupted, client.conduct(watcher));
  trial.client = endpoint.half();
  if (client_sends(parameters)) {
    trial.server = endpoint.acknowledged_half();
  }
  return trial;
}

Result<PerfTest> run_perf_at(const net::Endpoint& peer, const peer::ClientOptions& host,
                             const Parameters& parameters, const Watcher& watcher) {
  TRY(Socket socket, socket_to(peer, host, parameters));
  Endpoint endpoint(std::move(socket), parameters, Protocol::Perf, host.root, nullptr);
  Result<Trial> trial = trial_over(endpoint, peer, host, parameters, watcher);
  endpoint.disconnect();
  return trial ? Result<PerfTest>(PerfTest{.peer = peer, .trial = *std::move(trial)})
               : std::unexpected(std::move(trial).error());
}

}  // namespace

Result<PerfTest> run_perf(const peer::ClientOptions& host, const Parameters& parameters,
                          const Watcher& watcher) {
  TRY(can_quic());
  TRY(const std::vector<net::Address> addresses,
      net::resolve_within(host.peer.host, host.family, Deadline::of(kPerAddress, host.interrupt)));
  Result<PerfTest> first =
      fail(ErrorKind::NotFound, "resolve", host.peer.host, "it has no address");
  for (const net::Address& address : addresses) {
    Result<PerfTest> test = run_perf_at({address, host.peer.port}, host, parameters, watcher);
    // Only who does not answer may have another address that does.
    const bool is_silent = !test && (test.error().kind == ErrorKind::Timeout ||
                                     test.error().kind == ErrorKind::Unreachable ||
                                     test.error().kind == ErrorKind::Refused);
    if (!is_silent) {
      return test;
    }
    first = &address == &addresses.front() ? std::move(test) : std::move(first);
  }
  return first;
}

}  // namespace chokepoint::probe::quic
