#include "probe/udp/exchange.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "base/control/key.h"
#include "base/sys/clock.h"
#include "probe/udp/data_socket.h"

namespace chokepoint::probe::udp {

void OffsetFilter::add(std::int64_t asked_ns, const PongTimes& pong, std::int64_t answered_ns) {
  const std::int64_t held = difference(pong.answered_ns, pong.received_ns);
  const std::int64_t round_trip = difference(difference(answered_ns, asked_ns), held);
  constexpr std::int64_t kClockReadNs = 1'000;
  if (held < 0 || round_trip < 0 || (best_ && round_trip >= best_->round_trip_ns)) {
    return;
  }
  const std::int64_t there = difference(pong.received_ns, asked_ns);
  const std::int64_t back = difference(answered_ns, pong.answered_ns);
  best_ = {.offset_ns = there / 2 - back / 2,
           .uncertainty_ns = round_trip / 2 + kClockReadNs,
           .round_trip_ns = round_trip};
}

std::optional<ClockOffset> combined(const std::optional<ClockOffset>& before,
                                    const std::optional<ClockOffset>& after) {
  if (!before || !after) {
    return std::nullopt;
  }
  ClockOffset best = before->round_trip_ns <= after->round_trip_ns ? *before : *after;
  const std::int64_t apart = std::llabs(before->offset_ns / 2 - after->offset_ns / 2) * 2;
  // A smaller difference may be the measurements' uncertainty, without any drift.
  if (apart > before->uncertainty_ns + after->uncertainty_ns) {
    best.uncertainty_ns += apart;
  }
  return best;
}

namespace {

using std::chrono::milliseconds;

constexpr int kMaxPings = 50;
constexpr milliseconds kMeasuring{330};
constexpr milliseconds kPerPing{150};
// More than a socket can hold of an earlier run's data.
constexpr int kMaxDiscarded = 100'000;

std::int64_t arrival_of(msghdr& header) {
  const BothClocks now = read_both(sys::SystemClock());
  for (cmsghdr* note = CMSG_FIRSTHDR(&header); note != nullptr; note = CMSG_NXTHDR(&header, note)) {
    if (const auto stamp = arrival_ns(*note, now.wall_ahead_ns)) {
      return *stamp;
    }
  }
  return now.monotonic_ns;
}

struct Taken {
  bool any = false;  // there may be more to read
  std::optional<Exchanged> exchanged = {};
};

Taken take(int fd) {
  Exchanged exchanged;
  iovec piece{.iov_base = exchanged.packet.data(), .iov_len = exchanged.packet.size()};
  alignas(cmsghdr) std::array<std::byte, 128> control{};
  sockaddr_storage from{};
  msghdr header{};
  header.msg_name = &from;
  header.msg_namelen = sizeof(from);
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t got = recvmsg(fd, &header, MSG_DONTWAIT);
  if (got < 0) {
    return {.any = errno == ECONNREFUSED || errno == EINTR};
  }
  const std::optional<PacketHead> head = read_head(exchanged.packet);
  const Result<net::Endpoint> endpoint = net::Endpoint::from_socket(from);
  if (got != kExchangeBytes || !head || head->kind == PacketKind::Data || !endpoint) {
    return {.any = true};
  }
  exchanged.head = *head;
  exchanged.from = *endpoint;
  exchanged.arrived_ns = arrival_of(header);
  return {.any = true, .exchanged = exchanged};
}

// The answer to this ping, or nullopt where none arrived in time.
std::optional<Exchanged> await_pong(int fd, const PacketHead& ping, const net::Deadline& deadline) {
  while (net::wait_for(fd, POLLIN, deadline, "ping", "peer")) {
    const std::optional<Exchanged> answer = receive_exchange(fd);
    if (answer && answer->head.kind == PacketKind::Pong && answer->head.test == ping.test &&
        answer->head.sequence == ping.sequence && answer->head.sent_ns == ping.sent_ns) {
      return answer;
    }
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t random_test() {
  const control::Secret bytes = control::random_secret();
  std::uint64_t test = 0;
  std::memcpy(&test, bytes.data(), sizeof(test));
  return test & INT64_MAX;
}

void send_exchange(int fd, const ExchangePacket& packet) {
  std::ignore = send(fd, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::optional<Exchanged> receive_exchange(int fd) {
  for (int i = 0; i < kMaxDiscarded; ++i) {
    const Taken taken = take(fd);
    if (!taken.any || taken.exchanged) {
      return taken.exchanged;
    }
  }
  return std::nullopt;
}

void answer_pings(int fd, std::uint64_t test) {
  // No more at once: a peer that asks faster than it is answered must not keep the caller here.
  for (int i = 0; i < kMaxPings; ++i) {
    const std::optional<Exchanged> asked = receive_exchange(fd);
    if (!asked) {
      return;
    }
    if (asked->head.kind == PacketKind::Ping && asked->head.test == test) {
      const PongTimes times{.received_ns = asked->arrived_ns,
                            .answered_ns = sys::SystemClock().monotonic_ns()};
      send_exchange(fd, pong_packet(asked->head, times));
    }
  }
}

std::optional<ClockOffset> measure_offset(int fd, const FlowIdentity& flow,
                                          const net::Deadline& deadline) {
  OffsetFilter filter;
  const sys::SystemClock clock;
  const net::Deadline measuring = deadline.at_most(kMeasuring);
  for (int i = 0; i < kMaxPings && !measuring.over(); ++i) {
    const PacketHead ping{.kind = PacketKind::Ping,
                          .stream = flow.stream,
                          .run = flow.run,
                          .test = flow.test,
                          .sequence = static_cast<std::uint64_t>(i),
                          .sent_ns = clock.monotonic_ns()};
    send_exchange(fd, ping_packet(ping));
    if (const auto pong = await_pong(fd, ping, measuring.at_most(kPerPing))) {
      filter.add(ping.sent_ns, *pong_times(pong->packet), pong->arrived_ns);
    }
  }
  return filter.best();
}

}  // namespace chokepoint::probe::udp
