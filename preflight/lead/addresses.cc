#include "preflight/lead/addresses.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/net/address.h"

namespace chokepoint::preflight::lead {
namespace {

using net::Address;

std::optional<Address> parsed(const std::string& text) {
  const Result<Address> address = Address::parse(text);
  return address ? std::optional(address->unmapped()) : std::nullopt;
}

bool is_loopback(const std::string& text) {
  const std::optional<Address> address = parsed(text);
  return address && address->is_loopback();
}

struct Network {
  Address base;
  int bits = 0;
};

std::optional<Network> network_in(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::optional<Address> base = parsed(text.substr(0, slash));
  if (!base || slash == std::string::npos) {
    return std::nullopt;
  }
  int bits = -1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + slash + 1, end, bits);
  const int most = base->family() == net::Family::Ipv4 ? 32 : 128;
  if (error != std::errc() || stop != end || bits < 0 || bits > most) {
    return std::nullopt;
  }
  return Network{.base = *base, .bits = bits};
}

bool holds(const Network& network, const Address& address) {
  if (network.base.family() != address.family()) {
    return false;
  }
  constexpr int kByte = 8;
  for (int bit = 0; bit < network.bits; bit += kByte) {
    const auto place = static_cast<std::size_t>(bit / kByte);
    const int compared = std::min(kByte, network.bits - bit);
    const int differ = network.base.bytes().at(place) ^ address.bytes().at(place);
    if (differ >> (kByte - compared) != 0) {
      return false;
    }
  }
  return true;
}

bool has_address(const HostFacts& facts, const Address& address) {
  return std::ranges::any_of(facts.interfaces, [&](const InterfaceFacts& interface) {
    return std::ranges::any_of(interface.addresses,
                               [&](const std::string& text) { return parsed(text) == address; });
  });
}

// Others reach it there as well as the coordinator did.
bool is_for_others(const HostResult& host) {
  const std::optional<Address> address = parsed(host.address);
  return address && !address->is_loopback() && host.facts && has_address(*host.facts, *address);
}

std::size_t held(const Network& network, const std::vector<Address>& addresses) {
  return static_cast<std::size_t>(
      std::ranges::count_if(addresses, [&](const Address& each) { return holds(network, each); }));
}

struct Candidate {
  std::string address = {};
  std::size_t others = 0;
};

// Of the host's own addresses the one whose network holds most of the others'.
Candidate best_of(const HostFacts& facts, const std::vector<Address>& others) {
  Candidate best;
  for (const InterfaceFacts& interface : facts.interfaces) {
    const std::size_t count = std::min(interface.addresses.size(), interface.networks.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<Network> network = network_in(interface.networks[i]);
      if (!network || is_loopback(interface.addresses[i])) {
        continue;
      }
      const std::size_t others_there = held(*network, others);
      if (others_there > best.others) {
        best = {.address = interface.addresses[i], .others = others_there};
      }
    }
  }
  return best;
}

// Where hosts were reached that others reach there, too.
std::vector<Address> shared_addresses(const std::vector<HostResult>& hosts) {
  std::vector<Address> list;
  for (const HostResult& host : hosts) {
    if (is_for_others(host)) {
      list.push_back(*parsed(host.address));
    }
  }
  return list;
}

// The one that holds the address by which the host is tested.
const InterfaceFacts* tested_interface(const HostResult& host) {
  if (!host.facts) {
    return nullptr;
  }
  const auto at = std::ranges::find_if(host.facts->interfaces, [&](const InterfaceFacts& each) {
    return std::ranges::find(each.addresses, host.address) != each.addresses.end();
  });
  return at == host.facts->interfaces.end() ? nullptr : &*at;
}

}  // namespace

std::optional<std::string> other_family_address(const HostResult& from, const HostResult& to) {
  const InterfaceFacts* near = tested_interface(from);
  const InterfaceFacts* far = tested_interface(to);
  const std::optional<Address> tested = parsed(to.address);
  if (near == nullptr || far == nullptr || !tested) {
    return std::nullopt;
  }
  const std::size_t count = std::min(far->addresses.size(), far->networks.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<Address> address = parsed(far->addresses[i]);
    if (address && address->family() != tested->family() && !address->is_loopback() &&
        !address->is_link_local() &&
        std::ranges::find(near->networks, far->networks[i]) != near->networks.end()) {
      return far->addresses[i];
    }
  }
  return std::nullopt;
}

std::vector<std::string> test_addresses(const std::vector<HostResult>& hosts) {
  const std::vector<Address> shared = shared_addresses(hosts);
  std::vector<std::string> list;
  for (const HostResult& host : hosts) {
    list.push_back(host.address);
    if (host.facts && !is_for_others(host)) {
      const Candidate best = best_of(*host.facts, shared);
      list.back() = best.address.empty() ? host.address : best.address;
    }
  }
  return list;
}

}  // namespace chokepoint::preflight::lead
