#include "probe/latency/prober.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/sys/clock.h"
#include "probe/udp/difference.h"
#include "probe/udp/exchange.h"
#include "probe/udp/packet.h"

namespace chokepoint::probe::latency {
namespace {

using udp::ExchangePacket;
using udp::kExchangeBytes;
using udp::PacketHead;
using udp::PacketKind;

// An answer that takes longer is lost to the phase.
constexpr std::int64_t kStragglersNs = 2'000'000'000;
constexpr std::uint8_t kCounts = 1;

class PhaseRun {
 public:
  PhaseRun(const ProbeSockets& sockets, std::chrono::nanoseconds gap, std::uint16_t number,
           std::vector<std::byte>& pending)
      : sockets_(sockets), gap_ns_(gap.count()), number_(number), pending_(pending) {}

  Result<std::unique_ptr<Phase>> run(std::chrono::nanoseconds time, int interrupt,
                                     const Counting& counting) {
    const std::int64_t end = clock_.monotonic_ns() + time.count();
    std::int64_t next = clock_.monotonic_ns();
    while (!phase_->interrupted && clock_.monotonic_ns() < end) {
      if (clock_.monotonic_ns() >= next) {
        ask(counting());
        next = std::max(next + gap_ns_, clock_.monotonic_ns());
      }
      TRY(listen(std::min(next, end), interrupt));
    }
    return await_stragglers();
  }

 private:
  Result<std::unique_ptr<Phase>> await_stragglers() {
    const std::int64_t last = clock_.monotonic_ns() + kStragglersNs;
    while (!phase_->interrupted && outstanding() && clock_.monotonic_ns() < last) {
      TRY(listen(last, -1));
    }
    return std::move(phase_);
  }

  bool outstanding() const {
    return phase_->tcp.answered() < phase_->tcp.sent || phase_->udp.answered() < phase_->udp.sent;
  }

  ExchangePacket ping(bool counts) {
    return udp::ping_packet({.kind = PacketKind::Ping,
                             .stream = counts ? kCounts : std::uint8_t{0},
                             .run = number_,
                             .test = sockets_.test,
                             .sequence = sequence_++,
                             .sent_ns = clock_.monotonic_ns()});
  }

  void ask(bool counts) {
    const ExchangePacket over_tcp = ping(counts);
    const ssize_t sent =
        send(sockets_.tcp, over_tcp.data(), over_tcp.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    phase_->tcp.sent += counts && sent == kExchangeBytes ? 1 : 0;
    if (sockets_.udp >= 0) {
      udp::send_exchange(sockets_.udp, ping(counts));
      phase_->udp.sent += counts ? 1 : 0;
    }
  }

  Result<> listen(std::int64_t until_ns, int interrupt) {
    const std::int64_t wait = std::max<std::int64_t>(until_ns - clock_.monotonic_ns(), 0);
    const timespec timeout{.tv_sec = wait / 1'000'000'000, .tv_nsec = wait % 1'000'000'000};
    std::array<pollfd, 3> watched{pollfd{sockets_.tcp, POLLIN, 0}, pollfd{sockets_.udp, POLLIN, 0},
                                  pollfd{interrupt, POLLIN, 0}};
    ppoll(watched.data(), watched.size(), &timeout, nullptr);
    phase_->interrupted |= watched[2].revents != 0;
    if (watched[1].revents != 0) {
      hear_udp();
    }
    return watched[0].revents != 0 ? hear_tcp() : Result<>{};
  }

  void hear_udp() {
    while (const auto answer = udp::receive_exchange(sockets_.udp)) {
      if (answer->head.kind == PacketKind::Pong) {
        note(phase_->udp, answer->head);
      }
    }
  }

  Result<> hear_tcp() {
    std::array<std::byte, 64 * kExchangeBytes> buffer{};
    const ssize_t got = recv(sockets_.tcp, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      return fail(from_errno(got == 0 ? ECONNRESET : errno, "ping", "TCP connection"));
    }
    pending_.insert(pending_.end(), buffer.begin(), buffer.begin() + std::max<ssize_t>(got, 0));
    std::size_t used = 0;
    for (; pending_.size() - used >= kExchangeBytes; used += kExchangeBytes) {
      if (const auto head = udp::read_head(std::span(pending_).subspan(used, kExchangeBytes))) {
        note(phase_->tcp, *head);
      }
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(used));
    return {};
  }

  void note(RoundTrips& trips, const PacketHead& head) const {
    const std::int64_t took = udp::difference(clock_.monotonic_ns(), head.sent_ns);
    if (head.test == sockets_.test && head.run == number_ && head.stream == kCounts && took >= 0) {
      trips.histogram.add(static_cast<std::uint64_t>(took));
    }
  }

  const ProbeSockets& sockets_;
  std::int64_t gap_ns_;
  std::uint16_t number_;
  std::vector<std::byte>& pending_;
  sys::SystemClock clock_;
  std::uint64_t sequence_ = 0;
  std::unique_ptr<Phase> phase_ = std::make_unique<Phase>();
};

}  // namespace

Result<std::unique_ptr<Phase>> Prober::run(std::uint16_t number, std::chrono::nanoseconds time,
                                           int interrupt, const Counting& counting) {
  return PhaseRun(sockets_, gap_, number, pending_).run(time, interrupt, counting);
}

}  // namespace chokepoint::probe::latency
