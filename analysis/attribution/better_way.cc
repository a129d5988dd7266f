#include <charconv>
#include <cstdint>

#include "analysis/attribution/better_family.h"
#include "base/net/address.h"

namespace chokepoint::analysis {
namespace {

constexpr double kWider = 2;  // a line, than what passed

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

std::optional<BetterWay> better_interface(const DiagnosisInput& input, const DirectionView& view,
                                          const Route& route) {
  if (!view.sender || !view.receiver || view.sender == view.receiver) {
    return std::nullopt;
  }
  std::optional<BetterWay> best;
  for (const Interface& interface : input.run.nodes[*view.sender].interfaces) {
    if (!interface.is_up || interface.kind == "loopback" ||
        interface.name == route.sender.interface ||
        interface.speed_mbps.value_or(0) < kWider * route.rate_mbps ||
        interface.speed_mbps.value_or(0) < route.sender.speed_mbps.value_or(0)) {
      continue;
    }
    const auto address = neighbour_of(interface, input.run.nodes[*view.receiver]);
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

}  // namespace

std::optional<BetterWay> better_way(const DiagnosisInput& input, const DirectionBlame& direction,
                                    const Route& route) {
  auto way = better_interface(input, direction.view, route);
  return way ? way : better_family(input, direction.view, route);
}

}  // namespace chokepoint::analysis
