#include "probe/path/router_check.h"

#include <algorithm>

namespace chokepoint::probe::path {
namespace {

// Where nobody listens, so that the router refuses it in its own name.
constexpr std::uint16_t kUnlikelyPort = 33434;
constexpr std::int64_t kWaitNs = 1'000'000'000;

enum class Seen { Nothing, AsExpected, Otherwise };

// Two probes, their sequence numbers the TTLs.
struct Expectation {
  int ttl = 0;
  Seen there = Seen::Nothing;
  Seen before = Seen::Nothing;

  void hear(const Reply& reply) {
    if (reply.sequence == static_cast<std::uint32_t>(ttl)) {
      there = reply.kind == ReplyKind::Reached ? Seen::AsExpected : Seen::Otherwise;
    } else if (reply.sequence == static_cast<std::uint32_t>(ttl - 1)) {
      before = reply.kind == ReplyKind::Expired ? Seen::AsExpected : Seen::Otherwise;
    }
  }
  bool met() const { return there == Seen::AsExpected && (ttl == 1 || before == Seen::AsExpected); }
  bool broken() const { return there == Seen::Otherwise || before == Seen::Otherwise; }
};

bool send_both(UdpProber& prober, int ttl) {
  for (int i = std::max(ttl - 1, 1); i <= ttl; ++i) {
    if (!prober.send({.sequence = static_cast<std::uint32_t>(i), .ttl = i})) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<bool> sits_at(const net::Address& address, int ttl, const Origin& origin,
                            const sys::Clock& clock) {
  auto prober = UdpProber::open({.address = address, .port = kUnlikelyPort}, origin,
                                kSmallPacketBytes, clock);
  if (!prober || !send_both(*prober, ttl)) {
    return std::nullopt;
  }
  Expectation expected{.ttl = ttl};
  const std::int64_t until_ns = clock.monotonic_ns() + kWaitNs;
  while (clock.monotonic_ns() < until_ns && !expected.met() && !expected.broken()) {
    const auto replies = prober->collect(std::chrono::nanoseconds(until_ns - clock.monotonic_ns()));
    if (!replies) {
      return std::nullopt;
    }
    std::ranges::for_each(*replies, [&](const Reply& reply) { expected.hear(reply); });
  }
  return expected.met() || expected.broken() ? std::optional(expected.met()) : std::nullopt;
}

Placements place(const std::vector<RouterMatch>& routers, const Origin& origin,
                 const sys::Clock& clock, std::int64_t until_ns) {
  Placements placements;
  for (const RouterMatch& router : routers) {
    const bool undecided = router.forward && router.reverse && router.forward != router.reverse;
    if (!undecided || clock.monotonic_ns() >= until_ns) {
      continue;
    }
    if (const auto placed = sits_at(*router.reverse, router.ttl, origin, clock)) {
      placements.emplace(*router.reverse, *placed);
    }
  }
  return placements;
}

}  // namespace chokepoint::probe::path
