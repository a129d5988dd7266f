#include <charconv>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "analysis/attribution/route.h"
#include "base/net/address.h"

namespace chokepoint::analysis {
namespace {

constexpr double kWider = 2;     // a line, than what passed
constexpr double kFaster = 1.5;  // measured, than what passed

struct Network {
  net::Address address;
  unsigned bits = 0;
};

// "10.0.0.1/24"; nothing of a link's own addresses, which are alike on all links.
std::optional<Network> network_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto address = net::Address::parse(text.substr(0, slash));
  unsigned bits = 0;
  if (!address || address->is_link_local() || address->is_loopback() ||
      slash == std::string::npos ||
      std::from_chars(text.data() + slash + 1, text.data() + text.size(), bits).ec != std::errc{}) {
    return std::nullopt;
  }
  return Network{*address, bits};
}

bool is_same_network(const std::string& one, const std::string& other) {
  const auto first = network_of(one);
  const auto second = network_of(other);
  if (!first || !second || first->bits != second->bits ||
      first->address.family() != second->address.family()) {
    return false;
  }
  for (unsigned bit = 0; bit < first->bits; ++bit) {
    const auto mask = static_cast<std::uint8_t>(0x80U >> (bit % 8));
    if (((first->address.bytes().at(bit / 8) ^ second->address.bytes().at(bit / 8)) & mask) != 0) {
      return false;
    }
  }
  return true;
}

// Two hosts are neighbours where their addresses lie in one network and differ.
std::optional<std::string> neighbour_of(const Interface& interface, const NodeData& other) {
  for (const Interface& candidate : other.interfaces) {
    for (const std::string& theirs : candidate.addresses) {
      for (const std::string& ours : interface.addresses) {
        if (candidate.is_up && theirs != ours && is_same_network(ours, theirs)) {
          return theirs.substr(0, theirs.find('/'));
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<BetterWay> better_interface(const Scene& scene, const DirectionView& view,
                                          const Route& route) {
  if (!view.sender || !view.receiver || view.sender == view.receiver) {
    return std::nullopt;
  }
  std::optional<BetterWay> best;
  for (const Interface& interface : scene.run.nodes[*view.sender].interfaces) {
    if (!interface.is_up || interface.kind == "loopback" ||
        interface.name == route.sender.interface ||
        interface.speed_mbps.value_or(0) < kWider * route.rate_mbps ||
        interface.speed_mbps.value_or(0) < route.sender.speed_mbps.value_or(0)) {
      continue;
    }
    const auto address = neighbour_of(interface, scene.run.nodes[*view.receiver]);
    if (address && (!best || *interface.speed_mbps > best->mbps)) {
      best = {.cause = "management-interface",
              .interface = interface.name,
              .address = *address,
              .mbps = *interface.speed_mbps,
              .from = "interfaces of " + route.from + " and " + route.to};
    }
  }
  return best;
}

struct MeasuredPeer {
  std::string family = {};
  std::string address = {};
  double mbps = 0;
};

// Nothing of a document that is not a TCP probe's.
std::optional<MeasuredPeer> measured_peer(const record::Probe& probe) {
  const auto document = nlohmann::json::parse(probe.document, nullptr, false);
  if (probe.kind != "tcp" || !document.is_object() || !document.contains("peer")) {
    return std::nullopt;
  }
  const auto& peer = document["peer"];
  const auto& send = document.contains("send") ? document["send"] : document;
  const auto text = [&](const char* key) {
    return peer.is_object() && peer.contains(key) && peer[key].is_string()
               ? peer[key].get<std::string>()
               : std::string();
  };
  MeasuredPeer measured{.family = text("family"), .address = text("address")};
  if (measured.family.empty() || !send.is_object() || !send.contains("throughput_mbps") ||
      !send["throughput_mbps"].is_number()) {
    return std::nullopt;
  }
  measured.mbps = send["throughput_mbps"].get<double>();
  return measured;
}

// A probe before the job that went by the other family, and faster.
std::optional<BetterWay> better_family(const Scene& scene, const DirectionView& view,
                                       const Route& route) {
  const record::Flow& row = scene.run.connections[view.connection].row;
  const auto used = net::Address::parse(row.a_address);
  if (!used) {
    return std::nullopt;
  }
  const std::string family = used->unmapped().family() == net::Family::Ipv4 ? "ipv4" : "ipv6";
  for (const NodeData& node : scene.run.nodes) {
    for (const record::Probe& probe : node.probes) {
      const auto measured = measured_peer(probe);
      if (measured && measured->family != family && measured->mbps > kFaster * route.rate_mbps) {
        return BetterWay{.cause = "address-family",
                         .interface = route.sender.interface,
                         .address = measured->address,
                         .mbps = measured->mbps,
                         .from = "probe tcp of " + node.name};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<BetterWay> better_way(const Scene& scene, const DirectionBlame& direction,
                                    const Route& route) {
  auto way = better_interface(scene, direction.view, route);
  return way ? way : better_family(scene, direction.view, route);
}

}  // namespace chokepoint::analysis
