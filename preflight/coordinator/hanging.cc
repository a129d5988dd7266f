#include "preflight/coordinator/hanging.h"

#include <algorithm>
#include <array>

namespace chokepoint::preflight::coordinator {
namespace {

// A host whose tests with so many peers hang is at fault; with one it may be the peer.
constexpr std::size_t kMinHangingPeers = 2;

// TCP sends nothing that is larger than what both ends' interfaces take.
bool hangs(const Measured& measured, const PairResult& pair, const PathResult& path) {
  if (!path.black_hole_bytes) {
    return false;
  }
  return std::ranges::none_of(std::array{pair.a, pair.b}, [&](HostIndex host) {
    const InterfaceFacts* port = tested_interface(measured.hosts[host]);
    return port != nullptr && port->mtu && static_cast<float>(*port->mtu) < *path.black_hole_bytes;
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
  if (paths_.insert({from, to}).second) {
    ++sends_[from];
    ++receives_[to];
  }
}

bool Hanging::contains(HostIndex from, HostIndex to) const {
  return sends_[from] >= kMinHangingPeers || receives_[to] >= kMinHangingPeers ||
         paths_.contains({from, to});
}

bool Hanging::is_host(HostIndex host) const {
  return sends_[host] >= kMinHangingPeers || receives_[host] >= kMinHangingPeers;
}

}  // namespace chokepoint::preflight::coordinator
