#include "probe/collective/rendezvous/meeting.h"

#include <fmt/format.h>

#include "base/net/socket.h"
#include "probe/collective/rendezvous/member_service.h"

namespace chokepoint::probe::collective {
namespace {

constexpr int kBacklog = 1024;
constexpr std::uint16_t kHighestPort = 65535;
// Those that were let in and ask for nothing leave after a minute.
constexpr std::size_t kMostGuests = 256;

using Listeners = std::vector<sys::Descriptor>;

net::Endpoint endpoint(net::Family family, bool loopback, std::uint16_t port) {
  const std::string_view text = family == net::Family::Ipv4 ? (loopback ? "127.0.0.1" : "0.0.0.0")
                                                            : (loopback ? "::1" : "::");
  return {net::Address::parse(text).value(), port};
}

// Both families, or the one that this host has.
Result<Listeners> listen_on(std::uint16_t port, bool loopback) {
  Listeners listeners;
  std::optional<Error> problem;
  for (const net::Family family : {net::Family::Ipv4, net::Family::Ipv6}) {
    Result<sys::Descriptor> fd =
        net::listen(endpoint(family, loopback, port), kBacklog, net::SocketOptions{});
    if (!fd) {
      // A port of which one family is taken would lead half of the ranks astray.
      if (fd.error().kind == ErrorKind::Busy) {
        return std::unexpected(fd.error());
      }
      problem = fd.error();
      continue;
    }
    if (const Result<net::Endpoint> local = net::local_endpoint(fd->get()); local) {
      port = local->port;
    }
    listeners.push_back(std::move(*fd));
  }
  return listeners.empty() ? std::unexpected(*problem) : Result<Listeners>(std::move(listeners));
}

Result<Listeners> listen_near(std::uint16_t first, bool loopback) {
  Result<Listeners> listeners = listen_on(first, loopback);
  for (int i = 1; !listeners && i < kPorts && first + i <= kHighestPort; ++i) {
    if (listeners.error().kind != ErrorKind::Busy) {
      break;
    }
    listeners =
        listen_on(first == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(first + i), loopback);
  }
  return listeners;
}

control::Services rank_service(Hub& hub) {
  control::Services services;
  services.push_back(std::make_unique<MemberService>(hub));
  return services;
}

}  // namespace

Meeting::Meeting(const MeetingOptions& options, Hub& hub, const sys::Clock& clock)
    : hub_(hub),
      services_(rank_service(hub)),
      server_({.own = options.own,
               .key = options.key,
               .most_clients = kMostGuests + static_cast<std::size_t>(hub.ranks())},
              {.clock = clock, .root = sys::Root("/"), .limits = {}, .stop = hub.alarm()},
              services_, [](const std::string&) {}) {}

Result<std::unique_ptr<Meeting>> Meeting::open(const MeetingOptions& options, Hub& hub,
                                               const sys::Clock& clock) {
  TRY(Listeners listeners, listen_near(options.first_port, options.loopback));
  TRY(const net::Endpoint local, net::local_endpoint(listeners.front().get()));
  std::unique_ptr<Meeting> meeting(new Meeting(options, hub, clock));
  meeting->port_ = local.port;
  meeting->thread_ = std::thread([raw = meeting.get(), at = std::move(listeners)]() mutable {
    std::ignore = raw->server_.run(std::move(at));
  });
  return meeting;
}

Meeting::~Meeting() {
  hub_.finish();
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace chokepoint::probe::collective
