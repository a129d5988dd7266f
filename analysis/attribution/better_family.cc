#include "analysis/attribution/better_family.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/net/address.h"

namespace chokepoint::analysis {
namespace {

using Json = nlohmann::json;

constexpr double kFaster = 1.5;  // measured, than what passed

struct Measured {
  net::Address peer;
  double mbps = 0;
};

std::string text_of(const Json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

// The part of a probe's document that tells of one way, as the host that ran it calls that way.
Json part_of(const Json& document, const char* way) {
  const std::string direction = text_of(document, "direction");
  if (direction == "both" && document.contains(way)) {
    return document[way];
  }
  return direction == way ? document : Json();
}

std::optional<Measured> measured_by(const record::Probe& probe, const char* way) {
  const Json document = Json::parse(probe.document, nullptr, false);
  if (probe.kind != "tcp" || !document.is_object() || !document.contains("peer") ||
      !document["peer"].is_object()) {
    return std::nullopt;
  }
  const auto peer = net::Address::parse(text_of(document["peer"], "address"));
  const Json part = part_of(document, way);
  if (!peer || !part.is_object() || !part.contains("throughput_mbps") ||
      !part["throughput_mbps"].is_number()) {
    return std::nullopt;
  }
  return Measured{peer->unmapped(), part["throughput_mbps"].get<double>()};
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
std::optional<Measured> best_of(const NodeData& prober, const NodeData& other, const char* way,
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

std::optional<BetterWay> better_family(const Scene& scene, const DirectionView& view,
                                       const Route& route) {
  const auto address = net::Address::parse(scene.run.connections[view.connection].row.a_address);
  if (!address || !view.sender || !view.receiver) {
    return std::nullopt;
  }
  const net::Family used = address->unmapped().family();
  const NodeData& sender = scene.run.nodes[*view.sender];
  const NodeData& receiver = scene.run.nodes[*view.receiver];
  const auto sent = best_of(sender, receiver, "send", used);
  const auto best = sent ? sent : best_of(receiver, sender, "receive", used);
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
