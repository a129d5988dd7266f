#include "preflight/lead/hanging.h"

#include <algorithm>
#include <array>
#include <optional>

namespace chokepoint::preflight::lead {
namespace {

// With one peer it may be the peer.
constexpr std::size_t kEnough = 2;

std::optional<std::int64_t> mtu_of(const HostResult& host) {
  if (!host.facts) {
    return std::nullopt;
  }
  for (const InterfaceFacts& interface : host.facts->interfaces) {
    if (std::ranges::find(interface.addresses, host.address) != interface.addresses.end()) {
      return interface.mtu;
    }
  }
  return std::nullopt;
}

// TCP sends nothing that is larger than what both ends' interfaces take.
bool hangs(const Measured& measured, const PairResult& pair, const WayResult& way) {
  if (!way.black_hole_bytes) {
    return false;
  }
  return std::ranges::none_of(std::array{pair.a, pair.b}, [&](HostIndex host) {
    const std::optional<std::int64_t> mtu = mtu_of(measured.hosts[host]);
    return mtu && static_cast<float>(*mtu) < *way.black_hole_bytes;
  });
}

}  // namespace

Hanging::Hanging(const Measured& measured)
    : sends_(measured.hosts.size()), receives_(measured.hosts.size()) {
  for (const PairResult& pair : measured.pairs) {
    if (hangs(measured, pair, pair.there)) {
      add(pair.a, pair.b);
    }
    if (hangs(measured, pair, pair.back)) {
      add(pair.b, pair.a);
    }
  }
  for (const Trouble& trouble : measured.troubles) {
    if (trouble.test == "tcp" && trouble.error.kind == ErrorKind::Timeout) {
      add(trouble.a, trouble.b);
    }
  }
}

void Hanging::add(HostIndex from, HostIndex to) {
  if (ways_.insert({from, to}).second) {
    ++sends_[from];
    ++receives_[to];
  }
}

bool Hanging::is_way(HostIndex from, HostIndex to) const {
  return sends_[from] >= kEnough || receives_[to] >= kEnough || ways_.contains({from, to});
}

bool Hanging::is_host(HostIndex host) const {
  return sends_[host] >= kEnough || receives_[host] >= kEnough;
}

}  // namespace chokepoint::preflight::lead
