#include "probe/paths/sweep.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <random>

#include "base/control/test_driver.h"
#include "base/math/units.h"
#include "base/net/deadline.h"
#include "base/net/headers.h"
#include "base/net/socket.h"
#include "probe/udp/data_socket.h"
#include "probe/udp/exchange.h"
#include "probe/udp/packet.h"

namespace chokepoint::probe::paths {
namespace {

using control::Client;
using net::Deadline;
using std::chrono::milliseconds;
using std::chrono::seconds;
using udp::PacketKind;

constexpr seconds kFirstAnswer{3};
constexpr milliseconds kRepeatPing{200};
constexpr std::int64_t kLatePongsNs = 1'000'000'000;
// For the Pongs of a flow that arrive while this thread does not run.
constexpr int kFlowRoomBytes = 1 << 20;
constexpr int kMaxPongsAtOnce = 1024;
// Packets are sent in small batches, so that the thread need not wake for each.
constexpr std::int64_t kBatchNs = 500'000;

// So many at the most, however many arrive; the others wait for the next call.
int receive_pongs(int fd, const ServerReady& ready, Run run,
                  const std::function<void(const udp::Exchanged&)>& each) {
  int count = 0;
  for (int i = 0; i < kMaxPongsAtOnce; ++i) {
    const std::optional<udp::Exchanged> pong = udp::receive_exchange(fd);
    if (!pong) {
      break;
    }
    if (pong->head.kind == PacketKind::Pong && pong->head.test == ready.test &&
        pong->head.run == static_cast<std::uint16_t>(run)) {
      ++count;
      each(*pong);
    }
  }
  return count;
}

bool is_in_use(const Error& error) { return error.code == EADDRINUSE; }

// False where the packet was not sent. The kernel reports the error of an earlier packet once, in
// place of sending.
bool send_ping(int fd, const udp::ExchangePacket& packet) {
  for (int i = 0; i < 2; ++i) {
    if (send(fd, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
      return true;
    }
    if (errno != ECONNREFUSED && errno != EHOSTUNREACH && errno != ENETUNREACH) {
      return false;
    }
  }
  return false;
}

}  // namespace

int wire_bytes(net::Family family) {
  return static_cast<int>(udp::kExchangeBytes) + net::udp_overhead_bytes(family) +
         net::kEthernetHeaderBytes;
}

std::chrono::nanoseconds duration(const Parameters& parameters, net::Family family) {
  const double bits = static_cast<double>(parameters.flows) *
                      static_cast<double>(parameters.packets) * wire_bytes(family) * math::kBits;
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(bits / parameters.bits_per_s * math::kNsPerSecond));
}

Result<Sweep> Sweep::open(Client& client, const Parameters& parameters, std::uint16_t first_port,
                          const std::string& interface, int interrupt,
                          const control::Waiting& waiting) {
  TRY(const control::Json body,
      request_test(client, kKind, body_of(parameters), interrupt, waiting));
  TRY(const ServerReady ready, ready_in(body));
  Sweep sweep(client, parameters, ready);
  TRY(sweep.bind_sockets(first_port, interface));
  TRY(const bool answered, sweep.is_answered(interrupt));
  if (!answered) {
    return fail(sweep.unanswered());
  }
  return sweep;
}

Result<> Sweep::bind_sockets(std::uint16_t first_port, const std::string& interface) {
  TRY(const net::Endpoint own, net::local_endpoint(client_->channel().descriptor()));
  const net::Endpoint peer{.address = client_->peer().address, .port = ready_.udp_port};
  epoll_ = sys::Descriptor(epoll_create1(EPOLL_CLOEXEC));
  const auto wanted = static_cast<std::size_t>(parameters_.flows);
  int port = first_port;
  while (sockets_.size() < wanted) {
    if (port > UINT16_MAX) {
      return fail(ErrorKind::Exhausted, "bind", "source ports", "too few are free",
                  "choose another --source-port");
    }
    Result<sys::Descriptor> socket =
        net::bind_udp({.address = own.address, .port = static_cast<std::uint16_t>(port)},
                      {.interface = interface});
    port += port == 0 ? 0 : 1;
    if (!socket && is_in_use(socket.error()) && port != 0) {
      continue;
    }
    if (!socket) {
      return std::unexpected(socket.error());
    }
    udp::ask_for_room(socket->get(), kFlowRoomBytes);
    TRY(udp::prepare_receiving(socket->get()));
    TRY(net::connect_udp(socket->get(), peer));
    TRY(udp::prepare_sending(socket->get()));
    TRY(const net::Endpoint local, net::local_endpoint(socket->get()));
    epoll_event event{.events = EPOLLIN, .data = {.u64 = sockets_.size()}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket->get(), &event) < 0) {
      return fail(from_errno(errno, "watch", "UDP sockets"));
    }
    record_.flows.push_back({.source_port = local.port});
    sockets_.push_back(std::move(*socket));
  }
  seen_.assign(wanted, std::vector<bool>(static_cast<std::size_t>(parameters_.packets)));
  return {};
}

// Whether the peer answers at all. By one flow after the other, because a flow on a dead member is
// not answered.
Result<bool> Sweep::is_answered(int interrupt) {
  const Deadline deadline = Deadline::of(kFirstAnswer, interrupt);
  std::size_t next = 0;
  while (!deadline.over()) {
    const std::size_t flow = next++ % sockets_.size();
    const udp::ExchangePacket packet =
        udp::ping_packet({.kind = PacketKind::Ping,
                          .run = static_cast<std::uint16_t>(Run::Greeting),
                          .test = ready_.test,
                          .sequence = sequence_of(static_cast<std::uint32_t>(flow), 0),
                          .sent_ns = clock_.monotonic_ns()});
    send_ping(sockets_[flow].get(), packet);
    const Deadline once = deadline.at_most(kRepeatPing);
    const Result<> waited =
        net::wait_for(epoll_.get(), POLLIN, once, "await answer", client_->peer().text());
    if (!waited && waited.error().kind != ErrorKind::Timeout) {
      return std::unexpected(waited.error());
    }
    for (const sys::Descriptor& socket : sockets_) {
      if (receive_pongs(socket.get(), ready_, Run::Greeting, [](const udp::Exchanged&) {}) > 0) {
        return true;
      }
    }
  }
  return false;
}

// Why no flow was answered. A measured Ping of each flow is counted by the server, which tells
// whether packets arrive there.
Error Sweep::unanswered() {
  for (std::size_t flow = 0; flow < sockets_.size(); ++flow) {
    ping(flow, 0);
  }
  static_cast<void>(receive_until(clock_.monotonic_ns() + kLatePongsNs / 2, -1));
  const Result<SweepRecord> counted = close();
  const bool arrived = counted && std::ranges::any_of(counted->flows, [](const FlowRecord& flow) {
                         return flow.received_by_peer > 0;
                       });
  return {.kind = ErrorKind::Timeout,
          .operation = "",
          .subject = fmt::format("{} UDP port {}", client_->peer().address.text(), ready_.udp_port),
          .reason = arrived ? "UDP arrives there, and no answer comes back, though TCP works"
                            : "no answer over UDP, though TCP works",
          .next_step = arrived ? "does a firewall let UDP pass from there to here?"
                               : "does a firewall let UDP pass between the two hosts?"};
}

void Sweep::ping(std::size_t flow, std::uint32_t round) {
  const udp::ExchangePacket packet =
      udp::ping_packet({.kind = PacketKind::Ping,
                        .run = static_cast<std::uint16_t>(Run::Measured),
                        .test = ready_.test,
                        .sequence = sequence_of(static_cast<std::uint32_t>(flow), round),
                        .sent_ns = clock_.monotonic_ns()});
  // What this host could not send is not lost on the way.
  record_.flows[flow].sent += send_ping(sockets_[flow].get(), packet) ? 1 : 0;
}

void Sweep::take_pongs(std::size_t flow) {
  receive_pongs(sockets_[flow].get(), ready_, Run::Measured, [&](const udp::Exchanged& pong) {
    const std::uint32_t round = round_of(pong.head.sequence);
    if (flow_of(pong.head.sequence) != flow || round >= seen_[flow].size() || seen_[flow][round]) {
      return;
    }
    seen_[flow][round] = true;
    const udp::PongTimes times = *udp::pong_times(pong.packet);
    record_.flows[flow].trips.push_back(
        {.round = round,
         .there_ns = udp::difference(times.received_ns, pong.head.sent_ns),
         .back_ns = udp::difference(pong.arrived_ns, times.answered_ns)});
  });
}

Result<> Sweep::receive_until(std::int64_t until_ns, int interrupt) {
  do {
    const std::int64_t wait_ns = std::max<std::int64_t>(until_ns - clock_.monotonic_ns(), 0);
    const timespec wait{.tv_sec = wait_ns / 1'000'000'000, .tv_nsec = wait_ns % 1'000'000'000};
    std::array<pollfd, 3> watched{pollfd{epoll_.get(), POLLIN, 0}, pollfd{interrupt, POLLIN, 0},
                                  pollfd{client_->channel().descriptor(), POLLIN, 0}};
    ppoll(watched.data(), watched.size(), &wait, nullptr);
    record_.interrupted |= watched[1].revents != 0;
    if (watched[2].revents != 0) {
      // No message is due: the server gave up, or is gone.
      TRY(client_->channel().expect(control::Type::Result,
                                    Deadline::of(control::kAnswer, interrupt)));
      return fail(ErrorKind::Malformed, "paths", client_->peer().text(), "it ended the test");
    }
    std::array<epoll_event, 64> ready{};
    const int count = epoll_wait(epoll_.get(), ready.data(), ready.size(), 0);
    for (int i = 0; i < count; ++i) {
      take_pongs(ready[static_cast<std::size_t>(i)].data.u64);
    }
  } while ((interrupt < 0 || !record_.interrupted) && clock_.monotonic_ns() < until_ns);
  return {};
}

// What is still under way is not lost. Also after an interrupt, for a shorter time.
Result<> Sweep::await_late_pongs(int interrupt) {
  const bool was_interrupted = record_.interrupted;
  const std::int64_t last =
      clock_.monotonic_ns() + (was_interrupted ? kLatePongsNs / 4 : kLatePongsNs);
  while (record_.interrupted == was_interrupted && missing_pongs() > 0 &&
         clock_.monotonic_ns() < last) {
    TRY(receive_until(std::min(last, clock_.monotonic_ns() + kLatePongsNs / 50),
                      was_interrupted ? -1 : interrupt));
  }
  return {};
}

std::uint64_t Sweep::missing_pongs() const {
  std::uint64_t count = 0;
  for (const FlowRecord& flow : record_.flows) {
    count += flow.sent - std::min<std::uint64_t>(flow.sent, flow.trips.size());
  }
  return count;
}

Result<> Sweep::run(int interrupt, const std::function<void(std::uint64_t sent)>& progress) {
  std::mt19937_64 random(ready_.test);
  std::vector<std::size_t> order(sockets_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::int64_t gap_ns = duration(parameters_, client_->peer().address.family()).count() /
                              (parameters_.packets * static_cast<std::int64_t>(sockets_.size()));
  const std::int64_t began = clock_.monotonic_ns();
  std::int64_t due = began;
  std::int64_t received_at = began;
  std::uint64_t sent = 0;
  for (std::uint32_t round = 0; round < parameters_.packets && !record_.interrupted; ++round) {
    std::ranges::shuffle(order, random);
    ++record_.rounds;
    for (const std::size_t flow : order) {
      if (due > clock_.monotonic_ns() || clock_.monotonic_ns() - received_at > kBatchNs) {
        TRY(receive_until(due, interrupt));
        received_at = clock_.monotonic_ns();
      }
      if (record_.interrupted) {
        break;
      }
      ping(flow, round);
      ++sent;
      // Where this host was late, the packets that are due are not sent in a burst.
      due = std::max(due + gap_ns, clock_.monotonic_ns() - kBatchNs);
    }
    progress(sent);
  }
  record_.time = std::chrono::nanoseconds(clock_.monotonic_ns() - began);
  return await_late_pongs(interrupt);
}

Result<SweepRecord> Sweep::close() {
  TRY(const control::Json result, stop_test(*client_));
  TRY(const ServerCounts counts, counts_in(result, parameters_));
  for (std::size_t flow = 0; flow < sockets_.size(); ++flow) {
    take_pongs(flow);
    FlowRecord& record = record_.flows[flow];
    // Only a faulty server counts more than was sent.
    record.received_by_peer = std::min(counts.received[flow], record.sent);
    record.answered = std::min(counts.answered[flow], record.received_by_peer);
    record_.dropped += udp::queue_drops(sockets_[flow].get()).value_or(0);
  }
  record_.peer_dropped = counts.dropped;
  return std::move(record_);
}

}  // namespace chokepoint::probe::paths
