#include "capture/run/peers_filter.h"

#include <fmt/format.h>

#include "capture/packet/text.h"

namespace chokepoint::capture::run {
namespace {

// A kernel filter has 4096 instructions at most, and a packet passes all of them.
constexpr std::size_t kMostHosts = 64;
// Of connections to whomever: they may become the job's. Behind IPv6 pcap-filter does not look for
// TCP's flags by itself.
constexpr std::string_view kHandshakes =
    "tcp[tcpflags] & tcp-syn != 0 or (ip6[6] == 6 and ip6[53] & 2 != 0)";

}  // namespace

std::string filter_for(const std::vector<Host>& peers) {
  if (peers.empty() || peers.size() > kMostHosts) {
    return std::string(kAnyJob);
  }
  std::string hosts;
  for (const Host& peer : peers) {
    hosts += fmt::format("{}host {}", hosts.empty() ? "" : " or ",
                         packet::text_of(peer.address, peer.is_ipv6));
  }
  return fmt::format("{} or (({}) and ({}))", kHandshakes, kAnyJob, hosts);
}

}  // namespace chokepoint::capture::run
