#include "probe/paths/hops.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <thread>

#include "base/net/deadline.h"
#include "base/net/socket.h"
#include "base/sys/thread.h"
#include "probe/path/udp_prober.h"
#include "probe/paths/exchange.h"
#include "probe/udp/exchange.h"
#include "probe/udp/packet.h"

namespace chokepoint::probe::paths {
namespace {

using path::ProbePacket;
using path::Reply;
using path::ReplyKind;

// Routers limit how often they answer: with more at once fewer flows would be answered.
constexpr std::size_t kThreads = 4;
constexpr int kMaxHops = 16;
constexpr int kSendAttempts = 8;
constexpr int kMaxRepliesAtOnce = 256;  // of the packets that wait, however many more arrive

// The kernel reports the error of an earlier packet once, in place of sending; so it is tried
// again.
int send_with_ttl(int fd, net::Family family, const udp::ExchangePacket& packet, int ttl) {
  const bool four = family == net::Family::Ipv4;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  // sendmsg() does not write to it.
  iovec from{.iov_base = const_cast<std::byte*>(packet.data()), .iov_len = packet.size()};
  msghdr message{};
  message.msg_iov = &from;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = four ? IPPROTO_IP : IPPROTO_IPV6;
  part->cmsg_type = four ? IP_TTL : IPV6_HOPLIMIT;
  part->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(part), &ttl, sizeof(ttl));
  for (int i = 0; i < kSendAttempts; ++i) {
    if (sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno == EAGAIN ||
        errno == ENOBUFS) {
      return 0;
    }
  }
  return errno;
}

class PingProber final : public path::Prober {
 public:
  PingProber(const TracedFlow& flow, std::uint64_t test, const net::Endpoint& target, int interrupt,
             const sys::Clock& clock)
      : flow_(flow), test_(test), target_(target), interrupt_(interrupt), clock_(&clock) {}

  Result<> send(const ProbePacket& probe) override {
    const udp::ExchangePacket packet =
        udp::ping_packet({.kind = udp::PacketKind::Ping,
                          .run = static_cast<std::uint16_t>(Run::Traced),
                          .test = test_,
                          .sequence = sequence_of(flow_.flow, probe.sequence),
                          .sent_ns = clock_->monotonic_ns()});
    if (const int code = send_with_ttl(flow_.socket, target_.address.family(), packet, probe.ttl)) {
      return fail(from_errno(code, "send", target_.text()));
    }
    return {};
  }

  Result<std::vector<Reply>> collect(std::chrono::nanoseconds wait) override {
    const Result<> ready =
        net::wait_for(flow_.socket, POLLIN, net::Deadline::of(wait, interrupt_), "trace", "flow");
    if (!ready && ready.error().kind != ErrorKind::Timeout) {
      return std::unexpected(ready.error());
    }
    std::vector<Reply> replies;
    for (int i = 0; i < kMaxRepliesAtOnce; ++i) {
      const auto error = path::next_error(flow_.socket, target_.address.family());
      if (!error) {
        break;
      }
      if (!error->local) {
        take(*error, replies);
      }
    }
    for (int i = 0; i < kMaxRepliesAtOnce; ++i) {
      const auto pong = udp::receive_exchange(flow_.socket);
      if (!pong) {
        break;
      }
      if (const auto sequence = sequence_in(pong->packet, udp::PacketKind::Pong)) {
        replies.push_back({.sequence = sequence,
                           .kind = ReplyKind::Reached,
                           .from = target_.address,
                           .received_ns = pong->arrived_ns});
      }
    }
    return replies;
  }

  void abandon(std::uint32_t /*sequence*/) override {}

 private:
  std::optional<std::uint32_t> sequence_in(std::span<const std::byte> packet,
                                           udp::PacketKind kind) const {
    const std::optional<udp::PacketHead> head = udp::read_head(packet);
    const bool own = head && head->kind == kind && head->test == test_ &&
                     head->run == static_cast<std::uint16_t>(Run::Traced) &&
                     flow_of(head->sequence) == flow_.flow;
    return own ? std::optional(round_of(head->sequence)) : std::nullopt;
  }

  void take(const path::QueuedError& error, std::vector<Reply>& replies) const {
    const std::optional<std::uint32_t> sequence =
        sequence_in(error.quote_bytes(), udp::PacketKind::Ping);
    // A router may quote too little of the packet to identify it: then it is the only one under
    // way. One that quotes enough may mean a packet of the sweep.
    if (sequence || error.quoted < udp::kHeadBytes) {
      replies.push_back({.sequence = sequence,
                         .kind = error.meaning.kind,
                         .from = error.from,
                         .reason = error.meaning.reason,
                         .received_ns = path::monotonic_of(error.wall_ns, *clock_)});
    }
  }

  TracedFlow flow_;
  std::uint64_t test_;
  net::Endpoint target_;
  int interrupt_;
  const sys::Clock* clock_;
};

std::optional<Hops> traced(const TracedFlow& flow, std::uint64_t test, std::int64_t until_ns,
                           int interrupt, const sys::Clock& clock) {
  const Result<net::Endpoint> target = net::peer_endpoint(flow.socket);
  if (!target || !path::enable_error_queue(flow.socket, target->address.family())) {
    return std::nullopt;
  }
  PingProber prober(flow, test, *target, interrupt, clock);
  const Result<path::Trace> found =
      path::trace(prober, {.max_hops = kMaxHops, .probes = 1}, clock, until_ns);
  if (!found || !found->reached) {
    return std::nullopt;
  }
  Hops hops;
  for (const path::Hop& hop : found->hops) {
    hops.push_back(hop.address());
  }
  hops.pop_back();
  return hops;
}

}  // namespace

std::vector<std::optional<Hops>> trace_flows(std::span<const TracedFlow> flows, std::uint64_t test,
                                             std::chrono::nanoseconds time, int interrupt,
                                             const sys::Clock& clock) {
  std::vector<std::optional<Hops>> found(flows.size());
  const std::int64_t until_ns = clock.monotonic_ns() + time.count();
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t flow = next++; flow < flows.size() && clock.monotonic_ns() < until_ns;
         flow = next++) {
      found[flow] = traced(flows[flow], test, until_ns, interrupt, clock);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(kThreads, flows.size()); ++i) {
    if (Result<std::thread> thread = sys::start_thread("trace", work)) {
      threads.push_back(std::move(*thread));
    }
  }
  work();
  for (std::thread& thread : threads) {
    thread.join();
  }
  return found;
}

std::optional<std::size_t> paths_by_hops(std::span<const std::optional<Hops>> flows) {
  std::map<std::size_t, std::set<net::Address>> at;  // by distance
  std::set<Hops> whole;
  for (const std::optional<Hops>& hops : flows) {
    if (!hops) {
      continue;
    }
    for (std::size_t i = 0; i < hops->size(); ++i) {
      if (const auto& address = (*hops)[i]) {
        at[i].insert(*address);
      }
    }
    if (!hops->empty() && std::ranges::all_of(*hops, [](const auto& hop) { return bool(hop); })) {
      whole.insert(*hops);
    }
  }
  std::size_t most = whole.size();
  for (const auto& [distance, addresses] : at) {
    most = std::max(most, addresses.size());
  }
  return most == 0 ? std::nullopt : std::optional(most);
}

std::optional<Place> common_hop(std::span<const std::optional<Hops>> flows,
                                std::span<const std::size_t> these,
                                std::span<const std::size_t> others) {
  const auto address_at = [&](std::size_t flow, std::size_t distance) {
    const std::optional<Hops>& hops = flows[flow];
    return hops && distance < hops->size() ? (*hops)[distance] : std::nullopt;
  };
  for (std::size_t distance = 0; distance < kMaxHops; ++distance) {
    std::map<net::Address, int> seen;
    for (const std::size_t flow : these) {
      if (const auto address = address_at(flow, distance)) {
        ++seen[*address];
      }
    }
    if (seen.size() != 1 || seen.begin()->second < 2) {
      continue;
    }
    const net::Address& only = seen.begin()->first;
    const bool is_others = std::ranges::any_of(
        others, [&](std::size_t flow) { return address_at(flow, distance) == only; });
    const bool others_known = std::ranges::any_of(
        others, [&](std::size_t flow) { return address_at(flow, distance).has_value(); });
    if (!is_others && others_known) {
      return Place{.ttl = static_cast<int>(distance) + 1, .address = only};
    }
  }
  return std::nullopt;
}

}  // namespace chokepoint::probe::paths
