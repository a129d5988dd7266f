#include "probe/host/network_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/host/kernel_text.h"
#include "probe/host/nic_checks.h"
#include "probe/host/nic_setting_checks.h"

namespace chokepoint::probe {
namespace {

using host::NicKind;

// Can a job between hosts use an interface of this kind?
bool has_usable_kind(const host::Nic& nic) {
  constexpr std::array kKinds{NicKind::Physical,   NicKind::VirtualFunction, NicKind::Paravirtual,
                              NicKind::Infiniband, NicKind::Wireless,        NicKind::Bond,
                              NicKind::Vlan};
  return std::ranges::find(kKinds, nic.kind) != kKinds.end();
}

// A container engine's bridge ends in this host; a bridge over a port does not.
bool leaves_host(const host::Network& network, const host::Nic& bridge) {
  return std::ranges::any_of(bridge.lower, [&](const std::string& name) {
    const host::Nic* lower = find(network, name);
    return lower != nullptr && has_usable_kind(*lower);
  });
}

bool is_half_in_use(const host::Nic& nic) { return is_in_use(nic) && has_address(nic); }

std::string rdma_name(const host::Nic& nic) { return nic.rdma_device.value_or(nic.name); }

// NCCL_IB_HCA's form: [^][=]name[:port],…; without '=' each name is a prefix.
bool is_named(std::string value, const std::string& device) {
  const bool left_out = value.starts_with('^');
  value.erase(0, left_out ? 1 : 0);
  const bool exact = value.starts_with('=');
  value.erase(0, exact ? 1 : 0);
  const bool named = std::ranges::any_of(host::words_of(value, ","), [&](const std::string& word) {
    const std::string name = word.substr(0, word.find(':'));
    return exact ? device == name : device.starts_with(name);
  });
  return named != left_out;
}

void judge_halves(const host::Nic& one, const host::Nic& other, const JobDefaults& defaults,
                  Check& check) {
  const host::Nic* unused = !is_half_in_use(other) ? &other : !is_half_in_use(one) ? &one : nullptr;
  const std::string both = fmt::format("{},{}", rdma_name(one), rdma_name(other));
  check.next_step = fmt::format("export NCCL_IB_HCA={}", both);
  if (unused != nullptr) {
    check.status = Status::Warning;
    check.found +=
        fmt::format("; {} is {}", unused->name, is_up(*unused) ? "without an address" : "not up");
    check.next_step = fmt::format(
        "ip address add ADDRESS/PREFIX dev {0}; ip link set {0} up  # in a subnet of "
        "its own; then export NCCL_IB_HCA={1}",
        unused->name, both);
  } else if (defaults.named_devices && !(is_named(*defaults.named_devices, rdma_name(one)) &&
                                         is_named(*defaults.named_devices, rdma_name(other)))) {
    check.status = Status::Warning;
    check.found += fmt::format("; NCCL_IB_HCA={}", *defaults.named_devices);
  }
}

// Where both halves are in use, that one of them carries less than the port is no fault.
void lower_if_halved(const host::Network& network, const host::Nic& nic, std::size_t before,
                     Checks& checks) {
  const host::Nic* other = other_half(network, nic);
  if (other == nullptr || !is_half_in_use(nic) || !is_half_in_use(*other)) {
    return;
  }
  for (std::size_t at = before; at < checks.size(); ++at) {
    if (checks[at].id == "pci.bandwidth" && checks[at].status > Status::Info) {
      checks[at].status = Status::Info;
      checks[at].why = fmt::format("one half of the port; the other one is {}", other->name);
      checks[at].next_step.clear();
    }
  }
}

std::vector<const host::Nic*> candidates(const host::Network& network) {
  std::vector<const host::Nic*> usable;
  std::vector<const host::Nic*> others;
  for (const host::Nic& nic : network.nics) {
    if (nic.kind == NicKind::Loopback || !is_up(nic) || !has_address(nic)) {
      continue;
    }
    const bool bridged = nic.kind == NicKind::Bridge && leaves_host(network, nic);
    (bridged || has_usable_kind(nic) ? usable : others).push_back(&nic);
  }
  // In a container or a network namespace, the one end of a veth is all there is.
  return usable.empty() ? others : usable;
}

const host::Nic* owner_of(const std::vector<const host::Nic*>& all, const net::Address& address) {
  const auto owner = std::ranges::find_if(all, [&](const host::Nic* nic) {
    return std::ranges::any_of(nic->settings.addresses, [&](const net::InterfaceAddress& own) {
      return own.address == address;
    });
  });
  return owner == all.end() ? nullptr : *owner;
}

const host::Nic* named(const std::vector<const host::Nic*>& all,
                       const std::optional<std::string>& name) {
  const auto nic =
      std::ranges::find_if(all, [&](const host::Nic* each) { return each->name == name; });
  return nic == all.end() ? nullptr : *nic;
}

// What Gloo binds: the interface that is named to it, else the address that the host's own name
// resolves to; if that is not known, nearly always the interface of the default route.
const host::Nic* default_choice(const host::Network& network, const JobDefaults& defaults,
                                const std::vector<const host::Nic*>& all) {
  if (const host::Nic* chosen = named(all, defaults.named_interface)) {
    return chosen;
  }
  for (const net::Address& address : defaults.own_addresses) {
    if (const host::Nic* owner = owner_of(all, address)) {
      return owner;
    }
  }
  return named(all, network.default_route);
}

std::string words_of(const host::Network& network, const host::Nic& nic) {
  const auto speed = speed_mbps(network, nic);
  return fmt::format("{} ({})", nic.name,
                     speed ? format_mbps(static_cast<double>(*speed)) : "speed not known");
}

const host::Nic* fastest(const host::Network& network, const std::vector<const host::Nic*>& all) {
  return *std::ranges::max_element(
      all, {}, [&](const host::Nic* nic) { return speed_mbps(network, *nic).value_or(0); });
}

std::string export_command(const std::string& interface) {
  return fmt::format("export GLOO_SOCKET_IFNAME={0} NCCL_SOCKET_IFNAME=={0}", interface);
}

void judge_choice(const host::Network& network, const JobDefaults& defaults,
                  const std::vector<const host::Nic*>& all, Check& check) {
  const host::Nic* best = fastest(network, all);
  const host::Nic* chosen = default_choice(network, defaults, all);
  const auto best_speed = speed_mbps(network, *best);
  if (chosen == nullptr) {
    check.status = Status::Info;
    check.found = fmt::format("{} usable interfaces, none of them the obvious one", all.size());
  } else {
    check.found = words_of(network, *chosen);
  }
  const auto speed = chosen == nullptr ? std::nullopt : speed_mbps(network, *chosen);
  if (speed && best_speed && *speed < *best_speed) {
    check.status = Status::Warning;
  } else if (!speed && best_speed) {
    check.status = Status::Info;
  }
  if (check.status != Status::Pass) {
    check.wanted = words_of(network, *best);
    check.next_step = export_command(best->name);
  }
}

void report_no_candidate(const host::Network& network, Checks& checks) {
  const bool visible = std::ranges::any_of(
      network.nics, [](const host::Nic& nic) { return nic.kind != NicKind::Unknown; });
  if (!visible) {
    return;
  }
  Check check{.id = "host.interfaces",
              .status = Status::Info,
              .subject = "host",
              .found = "none",
              .why = "no interface is up with an address that reaches other hosts",
              .next_step = "ip address"};
  if (network.query_problem) {
    check.status = Status::Unknown;
    check.found.clear();
    check.why = "addresses could not be read: " + *network.query_problem;
  }
  checks.push_back(std::move(check));
}

// The network part of an address as text: "10.0.0.0/24".
std::optional<std::string> subnet_of(const net::InterfaceAddress& interface) {
  const bool ipv4 = interface.address.family() == net::Family::Ipv4;
  const int bits = ipv4 ? 32 : 128;
  // A host route is no subnet to share.
  if (interface.address.is_link_local() || interface.prefix <= 0 || interface.prefix >= bits) {
    return std::nullopt;
  }
  return fmt::format("{}/{}", interface.address.network(interface.prefix).text(), interface.prefix);
}

using Subnets = std::map<std::string, std::vector<const host::Nic*>>;

Subnets subnets_of(const std::vector<const host::Nic*>& nics) {
  Subnets subnets;
  for (const host::Nic* nic : nics) {
    for (const net::InterfaceAddress& address : nic->settings.addresses) {
      const auto subnet = subnet_of(address);
      if (!subnet) {
        continue;
      }
      auto& members = subnets[*subnet];
      if (std::ranges::find(members, nic) == members.end()) {
        members.push_back(nic);
      }
    }
  }
  return subnets;
}

std::string names_of(const std::vector<const host::Nic*>& nics) {
  std::string names;
  for (const host::Nic* nic : nics) {
    names += (names.empty() ? "" : " ") + nic->name;
  }
  return names;
}

void report_mismatch(const host::Nic& one, const host::Nic& other, std::string_view why,
                     Checks& checks) {
  const std::int64_t larger = std::max(*one.mtu, *other.mtu);
  const std::string& smaller_name = *one.mtu < *other.mtu ? one.name : other.name;
  checks.push_back(
      {.id = "host.mtu-mismatch",
       .status = Status::Warning,
       .subject = one.name,
       .found = fmt::format("{} {}, {} {}", one.name, *one.mtu, other.name, *other.mtu),
       .wanted = "one MTU",
       .why = std::string(why),
       .next_step = fmt::format("ip link set {} mtu {}", smaller_name, larger)});
}

// An interface on top of one with a smaller MTU sends packets that do not fit.
void check_stacked(const host::Network& network, const host::Nic& nic, Checks& checks) {
  for (const std::string& name : nic.lower) {
    const host::Nic* lower = find(network, name);
    const bool judged = lower != nullptr && has_usable_kind(*lower);
    if (judged && lower->mtu && nic.mtu && *lower->mtu < *nic.mtu) {
      report_mismatch(nic, *lower, "packets that fit the upper interface do not fit the lower one",
                      checks);
    }
  }
}

// What a tunnel's packets leave by: what it stands on, else whatever has the largest MTU.
const host::Nic* carrier_of(const host::Network& network, const host::Nic& tunnel) {
  const host::Nic* largest = nullptr;
  for (const host::Nic& nic : network.nics) {
    const bool may_carry = is_up(nic) && nic.mtu && nic.kind != NicKind::Loopback &&
                           nic.kind != NicKind::Tunnel && !ends_in_host(network, nic);
    if (may_carry && std::ranges::find(tunnel.lower, nic.name) != tunnel.lower.end()) {
      return &nic;
    }
    if (may_carry && (largest == nullptr || *nic.mtu > *largest->mtu)) {
      largest = &nic;
    }
  }
  return largest;
}

// A tunnel's packets with its headers have to fit what carries them.
void check_tunnel(const host::Network& network, const host::Nic& nic, Checks& checks) {
  if (!nic.header_bytes || !nic.mtu) {
    return;
  }
  const host::Nic* carrier = carrier_of(network, nic);
  if (carrier == nullptr || *nic.mtu + *nic.header_bytes <= *carrier->mtu) {
    return;
  }
  const std::int64_t room = *carrier->mtu - *nic.header_bytes;
  checks.push_back(
      {.id = "host.mtu-mismatch",
       .status = Status::Warning,
       .subject = nic.name,
       .found = fmt::format("{} {} and {} bytes of headers, {} {}", nic.name, *nic.mtu,
                            *nic.header_bytes, carrier->name, *carrier->mtu),
       .wanted = fmt::format("{} or less", room),
       .why = "full packets of the tunnel do not fit what carries it: they are cut in two, or "
              "vanish, and a job hangs with its first large message",
       .next_step = fmt::format("ip link set {} mtu {}", nic.name, room)});
}

bool may_differ(const host::Nic& one, const host::Nic& other) {
  return !one.mtu || !other.mtu || *one.mtu == *other.mtu || one.master || other.master;
}

// Ports of one speed are assumed to be ports of one fabric.
void check_siblings(const host::Network& network, Checks& checks) {
  const std::vector<const host::Nic*> all = candidates(network);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      const std::int64_t speed = speed_or_zero(*all[i]);
      if (is_port(*all[i]) && is_port(*all[j]) && speed >= kFastMbps &&
          speed == speed_or_zero(*all[j]) && !may_differ(*all[i], *all[j])) {
        report_mismatch(*all[i], *all[j],
                        "ports of one speed with different MTUs: a job over both meets the smaller",
                        checks);
      }
    }
  }
}

void check_nic(const host::Network& network, const host::Nic& nic, const JobDefaults& defaults,
               Checks& checks) {
  check_link(nic, checks);
  check_speed(network, nic, checks);
  check_duplex(nic, checks);
  check_mtu(nic, checks);
  check_bond(network, nic, checks);
  check_pci_link(nic, checks);
  const std::size_t before = checks.size();
  check_pci_bandwidth(nic, checks);
  lower_if_halved(network, nic, before, checks);
  check_halves(network, nic, defaults, checks);
  check_pci_shared(network, nic, checks);
  check_pci_errors(nic, checks);
  check_settings_readable(network, nic, checks);
  check_rings(nic, checks);
  check_queues(network, nic, checks);
  check_irq(network, nic, checks);
  check_nic_numa(network, nic, checks);
  check_coalescing(nic, checks);
  check_offloads(nic, checks);
  check_qdisc(nic, checks);
  check_errors(nic, checks);
  check_drops(nic, checks);
  check_pauses(nic, checks);
  check_flaps(nic, checks);
}

bool reaches_others(const host::Nic& nic) { return nic.kind != host::NicKind::Loopback; }

void check_presence(const host::Network& network, Checks& checks) {
  if (std::ranges::any_of(network.nics, reaches_others)) {
    return;
  }
  checks.push_back(
      {.id = "nic.link",
       .status = Status::Unknown,
       .subject = "host",
       .why = "no interface but loopback can be seen: a container without the host's "
              "network or without /sys",
       .next_step = "run on the host itself, or with --network=host and /sys mounted"});
}

}  // namespace

void check_interfaces(const host::Network& network, const JobDefaults& defaults, Checks& checks) {
  const std::vector<const host::Nic*> all = candidates(network);
  if (all.empty()) {
    report_no_candidate(network, checks);
    return;
  }
  Check check{.id = "host.interfaces",
              .subject = "host",
              .why =
                  "Gloo and NCCL's start-up take the interface of the host's name or default "
                  "route, be it the slowest"};
  if (all.size() == 1) {
    check.found = words_of(network, *all.front());
    check.why = "the only interface with an address that reaches other hosts";
  } else {
    judge_choice(network, defaults, all, check);
  }
  checks.push_back(std::move(check));
}

void check_subnets(const host::Network& network, Checks& checks) {
  for (const auto& [subnet, nics] : subnets_of(candidates(network))) {
    if (nics.size() > 1) {
      checks.push_back({.id = "host.subnets",
                        .status = Status::Warning,
                        .subject = "host",
                        .found = fmt::format("{} on {}", subnet, names_of(nics)),
                        .wanted = "one interface a subnet",
                        .why = "all that leaves for this subnet takes one of them, and either "
                               "answers for the other",
                        .next_step = "give each its own subnet, or bond them; until then "
                                     "sysctl -w net.ipv4.conf.all.arp_ignore=1 "
                                     "net.ipv4.conf.all.arp_announce=2, and a rule and table "
                                     "for each (ip rule add from ADDRESS table N)"});
    }
  }
}

bool ends_in_host(const host::Network& network, const host::Nic& nic) {
  return nic.kind == NicKind::Bridge && !leaves_host(network, nic);
}

void check_halves(const host::Network& network, const host::Nic& nic, const JobDefaults& defaults,
                  Checks& checks) {
  const host::Nic* other = other_half(network, nic);
  if (other == nullptr || !is_up(nic) || (is_up(*other) && other->name < nic.name)) {
    return;
  }
  Check check = check_of("nic.halves", nic,
                         "one port behind two PCIe links, an interface for each: a job that uses "
                         "one of them gets about half of the port");
  check.found = fmt::format("one port with {}", other->name);
  if (const auto ceiling = ceiling_mbps(*nic.pci)) {
    check.found += fmt::format(", {} by each PCIe link", format_mbps(*ceiling));
  }
  check.wanted = "both with an address, and both named to NCCL";
  judge_halves(nic, *other, defaults, check);
  checks.push_back(std::move(check));
}

void check_mtu_mismatch(const host::Network& network, Checks& checks) {
  for (const host::Nic& nic : network.nics) {
    if (is_up(nic)) {
      check_stacked(network, nic, checks);
      check_tunnel(network, nic, checks);
    }
  }
  check_siblings(network, checks);
}

void check_network(const host::Network& network, const JobDefaults& defaults, Checks& checks) {
  check_presence(network, checks);
  for (const host::Nic& nic : network.nics) {
    check_nic(network, nic, defaults, checks);
  }
  check_interfaces(network, defaults, checks);
  check_subnets(network, checks);
  check_mtu_mismatch(network, checks);
}

}  // namespace chokepoint::probe
