#include "probe/paths/rates.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <numeric>

#include "base/control/test_driver.h"
#include "base/math/units.h"
#include "base/net/deadline.h"
#include "base/net/socket.h"
#include "base/net/tcp_info.h"

namespace chokepoint::probe::paths {
namespace {

using net::Deadline;

constexpr std::array<std::byte, std::size_t{64} * 1024> kPiece{};
// Not yet sent, of a connection: what is handed to the kernel is sent soon after the slice.
constexpr int kUnsentBytes = 128 * 1024;
// What is under way when a slice ends has as long again to arrive, so that the next flow has its
// member for itself; no longer, or a member that carries next to nothing would hold up the sweep.
constexpr std::chrono::milliseconds kMinDrain{200};
constexpr std::chrono::milliseconds kCheckInterval{1};
constexpr std::size_t kPasses = 2;

std::chrono::nanoseconds drain_of(std::chrono::nanoseconds slice) {
  return std::max<std::chrono::nanoseconds>(slice, kMinDrain);
}

Result<std::uint64_t> acknowledged(int fd) {
  TRY(const net::TcpInfo info, net::read_tcp_info(fd));
  return info.bytes_acknowledged.value_or(0);
}

bool is_drained(int fd) {
  const Result<net::SendMemory> memory = net::read_send_memory(fd);
  const Result<net::TcpInfo> info = net::read_tcp_info(fd);
  return info && info->in_flight_segments == 0 && info->unsent_bytes.value_or(0) == 0 &&
         (!memory || memory->queued_bytes == 0);
}

}  // namespace

std::optional<double> Pass::bits_per_s() const {
  return time_ns <= 0 ? std::nullopt
                      : std::optional(static_cast<double>(bytes) * math::kBits *
                                      math::kNsPerSecond / static_cast<double>(time_ns));
}

std::chrono::nanoseconds longest_run(std::size_t flows, std::chrono::nanoseconds slice) {
  const std::size_t turns = kPasses * (flows + flows / math::kMaxUnsteady);
  return static_cast<std::int64_t>(turns) * (slice + drain_of(slice));
}

std::optional<math::Halves> rates_of(const RateRecord& flow) {
  const std::optional<double> first = flow.first.bits_per_s();
  const std::optional<double> second = flow.second.bits_per_s();
  return first && second ? std::optional(math::Halves{.first = *first, .second = *second})
                         : std::nullopt;
}

Result<RateSweep> RateSweep::open(control::Client& client, const Parameters& parameters,
                                  int interrupt, const control::Waiting& waiting) {
  TRY(request_test(client, kKind, body_of(parameters), interrupt, waiting));
  net::SocketOptions options;
  if (parameters.bits_per_s > 0) {
    options.pacing_bytes_per_s =
        static_cast<std::uint64_t>(std::max(1.0, parameters.bits_per_s / math::kBits));
  }
  const Deadline deadline = Deadline::of(control::kAnswer, interrupt);
  TRY(std::vector<sys::Descriptor> connections,
      attach_streams(client, parameters.flows, options, deadline));
  for (const sys::Descriptor& fd : connections) {
    if (setsockopt(fd.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes, sizeof(kUnsentBytes)) <
        0) {
      return fail(from_errno(errno, "set", "unsent bytes of a connection"));
    }
  }
  TRY(client.channel().expect(control::Type::Begin, deadline));
  RateSweep sweep(client, std::move(connections));
  for (std::size_t flow = 0; flow < sweep.connections_.size(); ++flow) {
    TRY(const net::Endpoint local, net::local_endpoint(sweep.connections_[flow].get()));
    sweep.records_[flow].source_port = local.port;
  }
  return sweep;
}

Result<Pass> RateSweep::send_for(std::size_t flow, std::chrono::nanoseconds slice, int interrupt) {
  const int fd = connections_[flow].get();
  TRY(const std::uint64_t before, acknowledged(fd));
  const std::int64_t began = clock_.monotonic_ns();
  const Deadline deadline = Deadline::of(slice, interrupt);
  while (!deadline.over()) {
    const Result<> waited = net::wait_for(fd, POLLOUT, deadline, "send", client_->peer().text());
    if (!waited && waited.error().kind == ErrorKind::Timeout) {
      break;
    }
    TRY(waited);
    const ssize_t sent = send(fd, kPiece.data(), kPiece.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      return fail(from_errno(errno, "send", client_->peer().text()));
    }
  }
  const Deadline drain = Deadline::of(drain_of(slice), interrupt);
  while (!is_drained(fd) && !drain.over()) {
    const Result<> waited = net::wait_for(-1, 0, drain.at_most(kCheckInterval), "wait", "flow");
    if (!waited && waited.error().kind != ErrorKind::Timeout) {
      return std::unexpected(waited.error());
    }
  }
  TRY(const std::uint64_t after, acknowledged(fd));
  return Pass{.bytes = after - before, .time_ns = clock_.monotonic_ns() - began};
}

Result<bool> RateSweep::run_pass(Pass RateRecord::* into, std::vector<std::size_t> flows,
                                 std::chrono::nanoseconds slice, int interrupt,
                                 const std::function<void()>& turn_ended) {
  std::ranges::shuffle(flows, random_);
  for (const std::size_t flow : flows) {
    Result<Pass> sent = send_for(flow, slice, interrupt);
    if (!sent && sent.error().kind == ErrorKind::Interrupted) {
      return false;
    }
    TRY(records_[flow].*into, std::move(sent));
    turn_ended();
  }
  return true;
}

Result<> RateSweep::run(std::chrono::nanoseconds slice, int interrupt,
                        const std::function<void(std::uint64_t turns)>& progress) {
  std::vector<std::size_t> all(connections_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::uint64_t turns = 0;
  for (const auto pass : {&RateRecord::first, &RateRecord::second}) {
    TRY(const bool ended, run_pass(pass, all, slice, interrupt, [&] { progress(++turns); }));
    if (!ended) {
      return {};
    }
  }
  std::vector<std::optional<math::Halves>> rates;
  std::ranges::transform(records_, std::back_inserter(rates), rates_of);
  const std::vector<std::size_t> again = math::unsteady_rates(rates);
  for (const auto pass : {&RateRecord::first, &RateRecord::second}) {
    TRY(const bool ended, run_pass(pass, again, slice, interrupt, [] {}));
    if (!ended) {
      return {};
    }
  }
  return {};
}

Result<std::vector<RateRecord>> RateSweep::close() {
  for (std::size_t flow = 0; flow < connections_.size(); ++flow) {
    if (const Result<net::TcpInfo> info = net::read_tcp_info(connections_[flow].get())) {
      records_[flow].retransmits = info->retransmits;
      records_[flow].min_rtt_ms = info->min_rtt_ms;
    }
  }
  TRY(stop_test(*client_));
  return std::move(records_);
}

}  // namespace chokepoint::probe::paths
