#include "probe/path/survey.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/net/socket.h"
#include "base/sys/clock.h"

namespace chokepoint::probe::path {
namespace {

Result<> prepare(int fd, net::Family family, int ttl) {
  const bool four = family == net::Family::Ipv4;
  const linger reset{.l_onoff = 1, .l_linger = 0};
  if (setsockopt(fd, four ? IPPROTO_IP : IPPROTO_IPV6, four ? IP_TTL : IPV6_UNICAST_HOPS, &ttl,
                 sizeof(ttl)) < 0 ||
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0) {
    return fail(from_errno(errno, "set", "TTL of a connection"));
  }
  return enable_error_queue(fd, family);
}

Result<> bind_source(int fd, const std::optional<net::Address>& source) {
  if (!source) {
    return {};
  }
  sockaddr_storage storage{};
  const socklen_t length = net::Endpoint{.address = *source}.to_socket(storage);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&storage), length) < 0) {
    return fail(from_errno(errno, "bind", source->text()));
  }
  return {};
}

// 0 where it is in progress, else errno.
int start_connecting(int fd, const net::Endpoint& target) {
  sockaddr_storage storage{};
  const socklen_t length = target.to_socket(storage);
  const bool failed = connect(fd, reinterpret_cast<const sockaddr*>(&storage), length) < 0;
  return failed && errno != EINPROGRESS ? errno : 0;
}

// Keeps echoing the peer's UDP probes while it waits for the answers to its own TCP probes: both
// ends work at the same time, and without echoes the path would look lossy to the peer. Borrows
// both.
class EchoingProber final : public Prober {
 public:
  EchoingProber(Prober& own, UdpProber& flow) : own_(own), flow_(flow) {}

  Result<> send(const ProbePacket& packet) override { return own_.send(packet); }
  void abandon(std::uint32_t sequence) override { own_.abandon(sequence); }

  Result<std::vector<Reply>> collect(std::chrono::nanoseconds wait) override {
    constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(20);
    TRY(flow_.collect(std::chrono::nanoseconds(0)));
    return own_.collect(std::min(wait, kSlice));
  }

 private:
  Prober& own_;
  UdpProber& flow_;
};

// How the receipt of a UDP packet is confirmed: a peer echoes it, or the target, where nothing
// listens on the port, answers "port unreachable". The latter needs no peer, but hosts limit its
// rate (Linux: one per second after the first six), so what seems lost is repeated slowly.
struct Confirmation {
  int tries = 2;
  std::chrono::milliseconds wait{500};       // for an answer, before the next try
  std::chrono::milliseconds last_wait{500};  // after the last one
  std::chrono::milliseconds pause{1100};     // between tries

  static Confirmation by_refusal() { return {}; }
  // A peer answers every copy, so they may follow each other closely.
  static Confirmation by_echo() {
    return {
        .tries = 3, .wait = std::chrono::milliseconds(50), .pause = std::chrono::milliseconds(0)};
  }
};

constexpr int kTtl = 64;

std::int64_t nanoseconds(std::chrono::milliseconds time) {
  return std::chrono::nanoseconds(time).count();
}

std::optional<MtuAnswer> answer_of(const Reply& reply, std::uint32_t first) {
  if (reply.sequence.value_or(first) < first) {
    return std::nullopt;
  }
  if (reply.kind == ReplyKind::Reached) {
    return MtuAnswer{.passage = Passage::Passed};
  }
  if (reply.kind != ReplyKind::TooBig) {
    return std::nullopt;
  }
  MtuAnswer answer{.passage = Passage::TooBig, .from = reply.from};
  // Routers older than RFC 1191 report 0.
  if (reply.mtu_bytes.value_or(0) > 0) {
    answer.mtu_bytes = static_cast<int>(*reply.mtu_bytes);
  }
  return answer;
}

class UdpMtuProbe final : public MtuProbe {
 public:
  // Borrows the prober.
  UdpMtuProbe(UdpProber& prober, const Confirmation& confirmation, const sys::Clock& clock)
      : prober_(prober), confirmation_(confirmation), clock_(clock) {}

  Result<MtuAnswer> try_size(int packet_bytes) override {
    prober_.set_packet_bytes(packet_bytes);
    const std::uint32_t first = sequence_;
    for (int i = 0; i < confirmation_.tries; ++i) {
      if (i > 0) {
        TRY(pause());
      }
      const bool last = i + 1 == confirmation_.tries;
      TRY(const auto answer, try_once(first, last ? confirmation_.last_wait : confirmation_.wait));
      if (answer.passage != Passage::Lost) {
        return answer;
      }
    }
    return MtuAnswer{};
  }

 private:
  // `first`: the sequence number of the first try of this size; any of them may be answered.
  Result<MtuAnswer> try_once(std::uint32_t first, std::chrono::milliseconds wait) {
    TRY(prober_.send({.sequence = sequence_++, .ttl = kTtl}));
    const std::int64_t until_ns = clock_.monotonic_ns() + nanoseconds(wait);
    for (std::int64_t now_ns = clock_.monotonic_ns(); now_ns < until_ns;
         now_ns = clock_.monotonic_ns()) {
      TRY(const auto replies, prober_.collect(std::chrono::nanoseconds(until_ns - now_ns)));
      for (const Reply& reply : replies) {
        if (const std::optional<MtuAnswer> answer = answer_of(reply, first)) {
          return *answer;
        }
      }
    }
    return MtuAnswer{};
  }

  // Reads late answers meanwhile, so that they are not taken for answers to the next probe.
  Result<> pause() {
    const std::int64_t until_ns = clock_.monotonic_ns() + nanoseconds(confirmation_.pause);
    while (clock_.monotonic_ns() < until_ns) {
      const std::int64_t left_ns = std::max<std::int64_t>(until_ns - clock_.monotonic_ns(), 0);
      TRY(prober_.collect(std::chrono::nanoseconds(left_ns)));
    }
    return {};
  }

  UdpProber& prober_;
  Confirmation confirmation_;
  const sys::Clock& clock_;
  std::uint32_t sequence_ = 0;
};

struct SurveyRun {
  UdpProber& flow;
  const SurveyOptions& options;
  const sys::Clock& clock;
  std::int64_t until_ns;
};

Result<Trace> trace_by_tcp(const SurveyRun& run) {
  const net::Endpoint target{.address = run.flow.target().address, .port = run.options.port};
  TcpProber connections(target, run.options.origin, run.clock);
  EchoingProber prober(connections, run.flow);
  TRY(Trace traced, trace(prober, run.options.plan, run.clock, run.until_ns));
  traced.protocol = Protocol::Tcp;
  traced.source = {.address = run.flow.source().address};
  traced.target = target;
  return traced;
}

Result<Trace> trace_by_udp(const SurveyRun& run) {
  TRY(Trace traced, trace(run.flow, run.options.plan, run.clock, run.until_ns));
  traced.source = run.flow.source();
  traced.target = run.flow.target();
  return traced;
}

Result<> find_mtu(const SurveyRun& run, const Confirmation& confirmation, Survey& found) {
  TRY(const int interface_mtu, run.flow.interface_mtu_bytes());
  UdpMtuProbe probe(run.flow, confirmation, run.clock);
  TRY(found.mtu, search_mtu(probe, interface_mtu, run.clock, run.until_ns));
  return {};
}

Result<> find_black_hole(const SurveyRun& run, Survey& found) {
  const int large = *found.mtu->black_hole_from_bytes;
  PlanOptions plan = run.options.plan;
  plan.probes = 2;
  plan.unreachable_wait_ns = plan.wait_ns;
  plan.max_hops = std::max(static_cast<int>(found.trace.hops.size()), 1);
  run.flow.set_packet_bytes(large);
  const Result<Trace> traced = trace(run.flow, plan, run.clock, run.until_ns);
  run.flow.set_packet_bytes(kSmallPacketBytes);
  if (!traced) {
    return std::unexpected(traced.error());
  }
  // An incomplete trace would name the hop at which it was cut off as the fault.
  if (traced->complete) {
    found.black_hole = locate(found.trace.hops, traced->hops, large);
  }
  return {};
}

Result<Survey> make(const SurveyRun& run, const Confirmation& confirmation) {
  TRY(Trace traced, run.options.protocol == Protocol::Tcp ? trace_by_tcp(run) : trace_by_udp(run));
  Survey found{.trace = std::move(traced)};
  Result<> done;
  if (run.options.search_mtu) {
    done = find_mtu(run, confirmation, found);
  }
  if (done && found.mtu && found.mtu->black_hole_from_bytes) {
    done = find_black_hole(run, found);
  }
  // If interrupted, the result is what was found until then.
  if (!done && done.error().kind != ErrorKind::Interrupted) {
    return std::unexpected(done.error());
  }
  return found;
}

}  // namespace

TcpProber::TcpProber(const net::Endpoint& target, const Origin& origin, const sys::Clock& clock)
    : target_(target), origin_(origin), clock_(&clock) {}

Result<sys::Descriptor> TcpProber::open(int ttl) const {
  const net::Family family = target_.address.family();
  sys::Descriptor fd(socket(family == net::Family::Ipv4 ? AF_INET : AF_INET6,
                            SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    return fail(from_errno(errno, "connect", target_.text()));
  }
  TRY(prepare(fd.get(), family, ttl));
  TRY(net::apply({.interface = origin_.interface}, fd.get(), family));
  TRY(bind_source(fd.get(), origin_.source));
  return fd;
}

Result<> TcpProber::send(const ProbePacket& packet) {
  TRY(sys::Descriptor fd, open(packet.ttl));
  const int code = start_connecting(fd.get(), target_);
  if (code == ECONNREFUSED) {
    pending_.push_back(answer_without_icmp(packet.sequence, code));
    return {};
  }
  if (code != 0) {
    return fail(from_errno(code, "connect", target_.text()));
  }
  sockets_.emplace(packet.sequence, std::move(fd));
  return {};
}

Reply TcpProber::answer_without_icmp(std::uint32_t sequence, int code) const {
  const bool from_target = code == 0 || code == ECONNREFUSED;
  Reply reply{.sequence = sequence, .received_ns = clock_->monotonic_ns()};
  reply.kind = from_target ? ReplyKind::Reached : ReplyKind::Unreachable;
  if (from_target) {
    reply.from = target_.address;
  } else {
    reply.reason = Unreachable::Other;
  }
  return reply;
}

std::optional<Reply> TcpProber::outcome(std::uint32_t sequence, int fd, short events) const {
  if (const std::optional<QueuedError> error = next_error(fd, target_.address.family())) {
    return Reply{.sequence = sequence,
                 .kind = error->meaning.kind,
                 .from = error->from,
                 .reason = error->meaning.reason,
                 .mtu_bytes = error->mtu_bytes,
                 .received_ns = monotonic_of(error->wall_ns, *clock_)};
  }
  const int code = net::pending_error(fd);
  // The kernel gave up: no host answered.
  if (code == ETIMEDOUT || (code == 0 && (events & POLLOUT) == 0)) {
    return std::nullopt;
  }
  return answer_without_icmp(sequence, code);
}

Result<std::vector<Reply>> TcpProber::collect(std::chrono::nanoseconds wait) {
  std::vector<Reply> replies = std::exchange(pending_, {});
  std::vector<pollfd> watched;
  std::vector<std::uint32_t> sequences;
  for (const auto& [sequence, fd] : sockets_) {
    watched.push_back({.fd = fd.get(), .events = POLLOUT, .revents = 0});
    sequences.push_back(sequence);
  }
  watched.push_back({.fd = origin_.interrupt, .events = POLLIN, .revents = 0});
  const timespec limit = sys::timespec_of(replies.empty() ? wait.count() : 0);
  if (ppoll(watched.data(), watched.size(), &limit, nullptr) < 0 && errno != EINTR) {
    return fail(from_errno(errno, "wait for", target_.text()));
  }
  if (watched.back().revents != 0) {
    return fail(ErrorKind::Interrupted, "wait for", target_.text(), "interrupted");
  }
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (watched[i].revents == 0) {
      continue;
    }
    if (const auto reply = outcome(sequences[i], watched[i].fd, watched[i].revents)) {
      replies.push_back(*reply);
    }
    sockets_.erase(sequences[i]);
  }
  return replies;
}

Result<Survey> survey(const net::Address& target, const SurveyOptions& options,
                      const sys::Clock& clock, std::int64_t until_ns) {
  const std::uint16_t port = options.protocol == Protocol::Tcp ? kTracePort : options.port;
  const net::Endpoint endpoint{.address = target, .port = port};
  TRY(UdpProber flow, UdpProber::open(endpoint, options.origin, kSmallPacketBytes, clock));
  return make({flow, options, clock, until_ns}, Confirmation::by_refusal());
}

Result<Survey> survey(UdpProber& flow, const SurveyOptions& options, const sys::Clock& clock,
                      std::int64_t until_ns) {
  return make({flow, options, clock, until_ns}, Confirmation::by_echo());
}

}  // namespace chokepoint::probe::path
