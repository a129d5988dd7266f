#include "analysis/attribution/better_family.h"

#include <algorithm>

#include "analysis/load/probe_document.h"
#include "base/net/address.h"

namespace chokepoint::analysis {
namespace {

constexpr double kFaster = 1.5;  // measured, than what passed

struct Measured {
  net::Address peer;
  double mbps = 0;
};

std::optional<Measured> measured_by(const record::Probe& probe, ProbeWay way) {
  const auto document = probe.kind == "tcp" ? read_probe(probe) : std::nullopt;
  if (!document || !document->peer || !document->way(way).throughput_mbps) {
    return std::nullopt;
  }
  return Measured{*document->peer, *document->way(way).throughput_mbps};
}

std::vector<net::Address> addresses_of(const NodeData& node) {
  std::vector<net::Address> addresses;
  for (const Interface& interface : node.interfaces) {
    for (const std::string& text : interface.addresses) {
      const auto address = net::Address::parse(text.substr(0, text.find('/')));
      if (address && !address->is_link_local() && !address->is_loopback()) {
        addresses.push_back(*address);
      }
    }
  }
  return addresses;
}

// What the fastest probe of one node measured to the other by another family than the used one.
std::optional<Measured> best_of(const NodeData& prober, const NodeData& other, ProbeWay way,
                                net::Family used) {
  const std::vector<net::Address> addresses = addresses_of(other);
  std::optional<Measured> best;
  for (const record::Probe& probe : prober.probes) {
    const auto measured = measured_by(probe, way);
    if (measured && measured->peer.family() != used &&
        std::ranges::find(addresses, measured->peer) != addresses.end() &&
        (!best || measured->mbps > best->mbps)) {
      best = measured;
    }
  }
  return best;
}

std::string address_in(const NodeData& node, net::Family family) {
  const std::vector<net::Address> addresses = addresses_of(node);
  const auto found = std::ranges::find(addresses, family, &net::Address::family);
  return found == addresses.end() ? "" : found->text();
}

}  // namespace

std::optional<BetterWay> better_family(const DiagnosisInput& input, const DirectionView& view,
                                       const Route& route) {
  const auto address = net::Address::parse(input.run.connections[view.connection].row.a_address);
  if (!address || !view.sender || !view.receiver) {
    return std::nullopt;
  }
  const net::Family used = address->unmapped().family();
  const NodeData& sender = input.run.nodes[*view.sender];
  const NodeData& receiver = input.run.nodes[*view.receiver];
  const auto sent = best_of(sender, receiver, ProbeWay::Send, used);
  const auto best = sent ? sent : best_of(receiver, sender, ProbeWay::Receive, used);
  if (!best || best->mbps <= kFaster * route.rate_mbps) {
    return std::nullopt;
  }
  return BetterWay{.cause = "address-family",
                   .interface = route.sender.interface,
                   .address = address_in(receiver, best->peer.family()),
                   .mbps = best->mbps,
                   .from = "probe tcp of " + (sent ? sender : receiver).name};
}

}  // namespace chokepoint::analysis
