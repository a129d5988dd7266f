#include "probe/host/address_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/host/kernel_text.h"
#include "probe/host/network_checks.h"

namespace chokepoint::probe {
namespace {

using host::Addresses;
using net::Address;
using net::Family;

void check_route(const Addresses& addresses, Checks& checks) {
  Check check{.id = "ip.default-route",
              .subject = "host",
              .why = "peers beyond the local network are reached by it"};
  if (!addresses.default_routes) {
    check.status = Status::Unknown;
    check.next_step = "ip route; ip -6 route";
  } else if (addresses.default_routes->empty()) {
    check.status = Status::Info;
    check.found = "none";
    check.why = "only hosts on the same networks can be reached: well for a closed cluster";
  } else {
    std::vector<std::string> texts;
    for (const host::DefaultRoute& route : *addresses.default_routes) {
      std::string text = fmt::format("{} by {}", net::name_of(route.family), route.interface);
      if (std::ranges::find(texts, text) == texts.end()) {
        texts.push_back(std::move(text));
      }
    }
    check.found = fmt::format("{}", fmt::join(texts, ", "));
  }
  checks.push_back(std::move(check));
}

void check_forwarding(const host::Sysctls& sysctls, Checks& checks) {
  const std::optional<std::int64_t> four = sysctls.number("net.ipv4.ip_forward");
  const std::optional<std::int64_t> six = sysctls.number("net.ipv6.conf.all.forwarding");
  Check check{
      .id = "ip.forwarding",
      .subject = "host",
      .why = "a host that forwards is a router: containers need that, a bare host does not"};
  if (!four && !six) {
    check.status = Status::Unknown;
    check.next_step = "sysctl net.ipv4.ip_forward net.ipv6.conf.all.forwarding";
  } else {
    check.found = fmt::format("IPv4 {}, IPv6 {}", four.value_or(0) != 0 ? "on" : "off",
                              six.value_or(0) != 0 ? "on" : "off");
    if (six.value_or(0) != 0) {
      check.status = Status::Info;
      check.why +=
          "; with IPv6 forwarding router advertisements are ignored unless accept_ra is "
          "2, and the default route then expires";
    } else if (four.value_or(0) != 0) {
      check.status = Status::Info;
      check.why += "; large receive offload is off while it is on";
    }
  }
  checks.push_back(std::move(check));
}

void check_ipv6(const Addresses& addresses, const host::Sysctls& sysctls, Checks& checks) {
  const std::optional<std::int64_t> disabled = sysctls.number("net.ipv6.conf.all.disable_ipv6");
  Check check{.id = "ip.ipv6",
              .subject = "host",
              .found = disabled.value_or(1) != 0 ? "off" : "on",
              .why = "peers with IPv6 only, and names that lead to it, are reached by it"};
  if (!disabled && !sysctls.number("net.ipv4.ip_forward")) {
    check.status = Status::Unknown;
    check.found.clear();
    check.next_step = "sysctl net.ipv6.conf.all.disable_ipv6";
  } else if (disabled.value_or(1) != 0) {
    check.status = Status::Info;
    check.why = "this kernel speaks IPv4 only: a peer or MASTER_ADDR with IPv6 only fails";
  } else if (!is_reachable(addresses, net::Family::Ipv6)) {
    check.status = Status::Info;
    check.found = "on, with no address that peers reach";
    check.why = "programs may try IPv6 first and lose time, or fail where they do not fall back";
  }
  checks.push_back(std::move(check));
}

bool exists(const Addresses& addresses, const std::string& interface) {
  return std::ranges::find(addresses.interfaces, interface) != addresses.interfaces.end();
}

// TensorPipe's, under torch.distributed.rpc.
constexpr std::string_view kRpcInterface = "TP_SOCKET_IFNAME";

std::string another_interface(std::string_view variable, const Addresses& addresses) {
  return fmt::format("export {}={}  # or another of {}", variable,
                     addresses.interfaces.empty() ? "eth0" : addresses.interfaces.front(),
                     fmt::join(addresses.interfaces, ", "));
}

void check_gloo(const Addresses& addresses, const std::string& value, Checks& checks) {
  Check check{.id = "names.gloo-interface",
              .subject = "GLOO_SOCKET_IFNAME",
              .found = value,
              .wanted = "names of interfaces, commas between them",
              .why = "Gloo binds the address of this interface"};
  for (const std::string& name : host::words_of(value, ",")) {
    if (name.find_first_of("^=") != std::string::npos) {
      check.status = Status::Critical;
      check.why = "Gloo knows no '^' and no '=': that is NCCL's syntax";
    } else if (!exists(addresses, name)) {
      check.status = Status::Critical;
      check.why = fmt::format("there is no interface {}: the job fails as it starts", name);
    } else if (name == "lo") {
      check.status = Status::Critical;
      check.why = "loopback: no other host reaches it";
    }
  }
  check.next_step = another_interface("GLOO_SOCKET_IFNAME", addresses);
  checks.push_back(std::move(check));
}

void check_tensorpipe(const Addresses& addresses, const std::string& value, Checks& checks) {
  Check check{.id = "names.rpc-interface",
              .subject = std::string(kRpcInterface),
              .found = value,
              .wanted = "the name of an interface",
              .why = "torch RPC binds the first address of this interface"};
  if (!exists(addresses, value)) {
    check.status = Status::Critical;
    check.why = fmt::format(
        "there is no interface {}: torch RPC falls back to 127.0.0.1, which no other host reaches",
        value);
  } else if (value == "lo") {
    check.status = Status::Critical;
    check.why = "loopback: no other host reaches it";
  }
  check.next_step = another_interface(kRpcInterface, addresses);
  checks.push_back(std::move(check));
}

// NCCL's form: [^][=]name,name; without '=' each name is a prefix, with '^' they are left out.
std::vector<std::string> chosen_by_nccl(const Addresses& addresses, std::string value) {
  const bool left_out = value.starts_with('^');
  value.erase(0, left_out ? 1 : 0);
  const bool exact = value.starts_with('=');
  value.erase(0, exact ? 1 : 0);
  std::vector<std::string> chosen;
  for (const std::string& interface : addresses.interfaces) {
    const bool named = std::ranges::any_of(host::words_of(value, ","), [&](const auto& name) {
      return exact ? interface == name : interface.starts_with(name);
    });
    if (named != left_out) {
      chosen.push_back(interface);
    }
  }
  return chosen;
}

// NCCL passes over interfaces without an address.
bool is_addressed(const host::Network& network, const std::string& interface) {
  const host::Nic* nic = find(network, interface);
  return nic != nullptr && !nic->settings.addresses.empty();
}

// Of these the ones that reach no other host: bridges of container engines, which have the same
// address on every host, and loopback.
std::vector<std::string> ending_here(const std::vector<std::string>& interfaces,
                                     const host::Network& network) {
  std::vector<std::string> ending;
  std::ranges::copy_if(interfaces, std::back_inserter(ending), [&](const std::string& name) {
    const host::Nic* nic = find(network, name);
    return is_addressed(network, name) &&
           (nic->kind == host::NicKind::Loopback || ends_in_host(network, *nic));
  });
  return ending;
}

void judge_ending_here(const std::vector<std::string>& chosen,
                       const std::vector<std::string>& ending, const Addresses& addresses,
                       const host::Network& network, Check& check) {
  const auto other = std::ranges::find_if(chosen, [&](const std::string& name) {
    return std::ranges::find(ending, name) == ending.end() && is_addressed(network, name);
  });
  const bool is_alone = other == chosen.end();
  check.status = is_alone ? Status::Critical : Status::Warning;
  check.found += fmt::format("; {} ends in this host", fmt::join(ending, ", "));
  check.wanted = "interfaces that other hosts are reached by";
  check.why = is_alone
                  ? "no other host can reach it: peers connect to themselves, or the job hangs as "
                    "it starts"
                  : "NCCL may take it first, and offers it to its peers: they connect to "
                    "themselves, or the job hangs as it starts";
  check.next_step =
      fmt::format("export NCCL_SOCKET_IFNAME='={}'",
                  is_alone ? best_interface(addresses).value_or("INTERFACE") : *other);
}

void check_nccl(const Addresses& addresses, const host::Network& network, const std::string& value,
                Checks& checks) {
  const std::vector<std::string> chosen = chosen_by_nccl(addresses, value);
  const std::vector<std::string> ending = ending_here(chosen, network);
  Check check{.id = "names.nccl-interface",
              .subject = "NCCL_SOCKET_IFNAME",
              .found = fmt::format("{}: {}", value, fmt::join(chosen, ", ")),
              .why = "NCCL's sockets use these interfaces"};
  if (chosen.empty()) {
    check.status = Status::Critical;
    check.found = fmt::format("{}: no interface", value);
    check.why = "no interface of this host has such a name: NCCL fails as it starts";
    check.next_step =
        fmt::format("export NCCL_SOCKET_IFNAME='={}'  # or another of {}",
                    addresses.interfaces.empty() ? "eth0" : addresses.interfaces.front(),
                    fmt::join(addresses.interfaces, ", "));
  } else if (!ending.empty()) {
    judge_ending_here(chosen, ending, addresses, network, check);
  } else if (chosen.size() > 1 && !value.starts_with('=')) {
    check.status = Status::Info;
    check.why =
        "names are prefixes unless '=' stands before them: more interfaces than meant may "
        "match";
    check.next_step = fmt::format("export NCCL_SOCKET_IFNAME='={}'", chosen.front());
  }
  checks.push_back(std::move(check));
}

constexpr std::array kFamilies = {Family::Ipv4, Family::Ipv6};

std::string_view words_for(Family family) { return family == Family::Ipv4 ? "IPv4" : "IPv6"; }

bool is_own(const Addresses& addresses, const Address& address) {
  // All of 127.0.0.0/8 is the host's, whatever the interface lists. Without a list, yes.
  return address.is_loopback() || !addresses.addresses ||
         std::ranges::any_of(*addresses.addresses, [&](const host::InterfaceAddress& one) {
           return one.address.family() == address.family() &&
                  one.address.bytes() == address.bytes();
         });
}

std::string list_of(const std::vector<Address>& addresses) {
  std::vector<std::string> texts;
  texts.reserve(addresses.size());
  for (const Address& address : addresses) {
    texts.push_back(address.text());
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string name_interface(const Addresses& addresses) {
  const std::string interface = best_interface(addresses).value_or("INTERFACE");
  return fmt::format("export GLOO_SOCKET_IFNAME={0} NCCL_SOCKET_IFNAME='={0}'", interface);
}

std::string fix_hosts_command(const host::OwnName& own, const Addresses& addresses) {
  return fmt::format("{}  # for good: in /etc/hosts give {} the address that peers use",
                     name_interface(addresses), own.name.value_or("the name"));
}

void judge_bound(const host::OwnName& own, const Addresses& addresses, Check& check) {
  const std::optional<Address> bound = address_gloo_binds(own, addresses);
  check.next_step = fix_hosts_command(own, addresses);
  if (own.addresses->empty()) {
    check.status = Status::Critical;
    check.why = "the name leads nowhere: Gloo falls back to 127.0.0.1 and no other host reaches it";
  } else if (!bound) {
    check.status = Status::Critical;
    check.why =
        "no interface has that address: Gloo cannot bind it, falls back to 127.0.0.1 and "
        "no other host reaches it";
  } else if (bound->is_loopback()) {
    check.status = Status::Critical;
    check.why = fmt::format("Gloo binds {} and sends it to its peers: no other host reaches it",
                            bound->text());
  } else if (bound->is_link_local()) {
    check.status = Status::Warning;
    check.why =
        fmt::format("Gloo binds {}, which only hosts on the same wire reach", bound->text());
  }
}

// If an interface is named to Gloo, the host's name has no effect.
void lower_if_interface_is_named(const host::Process& process, Check& check) {
  const std::optional<std::string> named = variable(process, "GLOO_SOCKET_IFNAME");
  if (named && check.status > Status::Info) {
    check.status = Status::Info;
    check.why += fmt::format("; here GLOO_SOCKET_IFNAME={} overrules that", *named);
  }
}

void check_own_name(const host::OwnName& own, const Addresses& addresses,
                    const host::Process& process, Checks& checks) {
  Check check{.id = "names.own",
              .subject = own.name.value_or("host"),
              .wanted = "an address that peers reach",
              .why = "Gloo binds what the host's own name leads to"};
  if (!own.addresses) {
    check.status = Status::Unknown;
    check.why = own.error
                    ? fmt::format("{}; a job waits as long for its own name", describe(*own.error))
                    : "this host's name could not be read";
    check.next_step = fmt::format("getent ahosts {}", own.name.value_or("$(hostname)"));
  } else {
    check.found = own.addresses->empty() ? "nothing" : list_of(*own.addresses);
    judge_bound(own, addresses, check);
  }
  lower_if_interface_is_named(process, check);
  checks.push_back(std::move(check));
}

bool resolves_to(const host::OwnName& own, Family family) {
  return std::ranges::any_of(*own.addresses, [&](const Address& address) {
    return address.family() == family && host::is_routable(address);
  });
}

std::string families_text(bool four, bool six) {
  return four && six ? "IPv4 and IPv6" : four ? "IPv4" : six ? "IPv6" : "neither";
}

// A family that the name resolves to, but in which the host has no address: peers that pick it
// fail.
std::optional<Family> unreachable_family(const host::OwnName& own, const Addresses& addresses) {
  for (const Family family : kFamilies) {
    if (resolves_to(own, family) && !is_reachable(addresses, family)) {
      return family;
    }
  }
  return std::nullopt;
}

// The name resolves to one family only, and the default route is of the other.
std::optional<Family> missed_family(const host::OwnName& own, const Addresses& addresses) {
  for (const Family family : kFamilies) {
    const Family other = net::other(family);
    if (resolves_to(own, family) && !resolves_to(own, other) &&
        !has_default_route(addresses, family) && has_default_route(addresses, other)) {
      return other;
    }
  }
  return std::nullopt;
}

void check_families(const host::OwnName& own, const Addresses& addresses, Checks& checks) {
  const bool four = is_reachable(addresses, Family::Ipv4);
  const bool six = is_reachable(addresses, Family::Ipv6);
  Check check{.id = "names.families",
              .subject = own.name.value_or("host"),
              .found = families_text(four, six) + " on the interfaces",
              .why = "both ends of a connection must pick the same family"};
  if (!addresses.addresses || !own.addresses) {
    check.status = Status::Unknown;
    check.found.clear();
    check.next_step = "ip address; getent ahosts $(hostname)";
    checks.push_back(std::move(check));
    return;
  }
  check.found +=
      fmt::format(", the name leads to {}",
                  families_text(resolves_to(own, Family::Ipv4), resolves_to(own, Family::Ipv6)));
  if (const std::optional<Family> dead = unreachable_family(own, addresses)) {
    check.status = Status::Warning;
    check.why = fmt::format("the name leads to {0}, and no interface has a reachable {0} address",
                            words_for(*dead));
    check.next_step = fmt::format("take its {} address out of /etc/hosts or DNS", words_for(*dead));
  } else if (const std::optional<Family> missed = missed_family(own, addresses)) {
    check.status = Status::Warning;
    check.why = fmt::format("the default route is {0} only, and the name has no {0} address",
                            words_for(*missed));
    check.next_step =
        fmt::format("give the name its {} address in /etc/hosts or DNS", words_for(*missed));
  } else if (four && six) {
    check.status = Status::Info;
    check.why =
        "dual stack: torch RPC and Gloo take the first address of the interface that is named to "
        "them, which is IPv4, else the first that the name leads to, whatever family MASTER_ADDR "
        "has";
    check.next_step = fmt::format(
        "for IPv6 name no interface and write IPv6 addresses alone to /etc/hosts; for IPv4 {}",
        name_interface(addresses));
  } else if (!four && !six) {
    check.status = Status::Warning;
    check.why = "no interface has an address that another host could reach";
    check.next_step = "ip address";
  }
  checks.push_back(std::move(check));
}

// What a library offers its peers: the first address of the interface in `named`, else what the
// host's name resolves to.
struct Offer {
  std::string library;
  std::string by;
  Address address;
};

std::optional<Offer> offer_of(const char* library, const std::string& named,
                              const host::OwnName& own, const Addresses& addresses,
                              const host::Process& process) {
  if (const std::optional<std::string> value = variable(process, named)) {
    for (const host::InterfaceAddress& one :
         addresses.addresses.value_or(std::vector<host::InterfaceAddress>())) {
      if (one.interface == *value) {
        return Offer{library, fmt::format("{}={}", named, *value), one.address};
      }
    }
    return std::nullopt;
  }
  const std::optional<Address> bound = address_gloo_binds(own, addresses);
  if (!bound) return std::nullopt;
  return Offer{library, fmt::format("the name {}", own.name.value_or("of this host")), *bound};
}

// The ranks meet at MASTER_ADDR, and then exchange data between the addresses that each library
// offers: possibly of another family than MASTER_ADDR.
void check_meeting_family(const host::OwnName& own, const Addresses& addresses,
                          const host::Process& process, Checks& checks) {
  const std::optional<std::string> master = variable(process, "MASTER_ADDR");
  const Result<Address> meeting = Address::parse(master.value_or(""));
  if (!meeting) return;
  Check check{.id = "names.meeting-family",
              .subject = "MASTER_ADDR",
              .found = fmt::format("{}, {}", *master, words_for(meeting->family())),
              .wanted = fmt::format("{} addresses of Gloo and torch RPC, too",
                                    words_for(meeting->family())),
              .why = "ranks meet at MASTER_ADDR, and exchange data between other addresses",
              .next_step = meeting->family() == Family::Ipv6
                               ? "unset GLOO_SOCKET_IFNAME TP_SOCKET_IFNAME  # and in /etc/hosts "
                                 "give the host's name its IPv6 address alone"
                               : "in /etc/hosts give the host's name its IPv4 address alone"};
  for (const auto& [library, named] :
       {std::pair("Gloo", "GLOO_SOCKET_IFNAME"), std::pair("torch RPC", kRpcInterface.data())}) {
    const std::optional<Offer> offer = offer_of(library, named, own, addresses, process);
    if (!offer || offer->address.family() == meeting->family()) continue;
    check.status = Status::Warning;
    check.found +=
        fmt::format("; {} offers {}, by {}", offer->library, offer->address.text(), offer->by);
    check.why = fmt::format(
        "the ranks meet over {0}, and their data go over {1}: where no {1} passes the job fails or "
        "hangs as it starts",
        words_for(meeting->family()), words_for(offer->address.family()));
  }
  checks.push_back(std::move(check));
}

}  // namespace

void check_ip(const Addresses& addresses, const host::Sysctls& sysctls, Checks& checks) {
  check_route(addresses, checks);
  check_forwarding(sysctls, checks);
  check_ipv6(addresses, sysctls, checks);
}

void check_interface_choice(const Addresses& addresses, const host::Network& network,
                            const host::Process& process, Checks& checks) {
  if (const std::optional<std::string> value = variable(process, "GLOO_SOCKET_IFNAME")) {
    check_gloo(addresses, *value, checks);
  }
  if (const std::optional<std::string> value = variable(process, "NCCL_SOCKET_IFNAME")) {
    check_nccl(addresses, network, *value, checks);
  }
  if (const std::optional<std::string> value = variable(process, std::string(kRpcInterface))) {
    check_tensorpipe(addresses, *value, checks);
  }
}

std::optional<Address> address_gloo_binds(const host::OwnName& own, const Addresses& addresses) {
  for (const Address& address : own.addresses.value_or(std::vector<Address>())) {
    if (is_own(addresses, address)) {
      return address;
    }
  }
  return std::nullopt;
}

std::optional<std::string> best_interface(const Addresses& addresses) {
  if (addresses.default_routes && !addresses.default_routes->empty()) {
    return addresses.default_routes->front().interface;
  }
  for (const host::InterfaceAddress& one :
       addresses.addresses.value_or(std::vector<host::InterfaceAddress>())) {
    if (host::is_routable(one.address) && !one.interface.empty()) {
      return one.interface;
    }
  }
  return std::nullopt;
}

void check_names(const host::OwnName& own, const Addresses& addresses, const host::Process& process,
                 Checks& checks) {
  check_own_name(own, addresses, process, checks);
  check_families(own, addresses, checks);
  check_meeting_family(own, addresses, process, checks);
}

}  // namespace chokepoint::probe
