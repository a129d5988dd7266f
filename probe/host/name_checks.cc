#include "probe/host/name_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace chokepoint::probe {
namespace {

using host::Addresses;
using net::Address;
using net::Family;

constexpr std::array kFamilies = {Family::Ipv4, Family::Ipv6};

std::string_view words_for(Family family) { return family == Family::Ipv4 ? "IPv4" : "IPv6"; }

bool is_own(const Addresses& addresses, const Address& address) {
  // All of 127.0.0.0/8 is the host's, whatever the interface lists. Without a list, benefit of
  // doubt.
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
  return fmt::format("export GLOO_SOCKET_IFNAME={0} NCCL_SOCKET_IFNAME=={0}", interface);
}

std::string mend_hosts(const host::OwnName& own, const Addresses& addresses) {
  return fmt::format("{}; for good: in /etc/hosts give {} the address that peers use",
                     name_interface(addresses), own.name.value_or("the name"));
}

void judge_bound(const host::OwnName& own, const Addresses& addresses, Check& check) {
  const std::optional<Address> bound = address_gloo_binds(own, addresses);
  check.next_step = mend_hosts(own, addresses);
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
    check.why = fmt::format("Gloo binds {} and tells it to its peers: no other host reaches it",
                            bound->text());
  } else if (bound->is_link_local()) {
    check.status = Status::Warning;
    check.why =
        fmt::format("Gloo binds {}, which only hosts on the same wire reach", bound->text());
  }
}

// An interface named to Gloo leaves the name without effect.
void soften_where_told(const host::Process& process, Check& check) {
  const std::optional<std::string> told = variable(process, "GLOO_SOCKET_IFNAME");
  if (told && check.status > Status::Info) {
    check.status = Status::Info;
    check.why += fmt::format("; here GLOO_SOCKET_IFNAME={} overrules that", *told);
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
  soften_where_told(process, check);
  checks.push_back(std::move(check));
}

bool leads_to(const host::OwnName& own, Family family) {
  return std::ranges::any_of(*own.addresses, [&](const Address& address) {
    return address.family() == family && host::is_routable(address);
  });
}

std::string families_text(bool four, bool six) {
  return four && six ? "IPv4 and IPv6" : four ? "IPv4" : six ? "IPv6" : "neither";
}

// The name leads to a family in which the host has no address: peers that pick it fail.
std::optional<Family> dead_family(const host::OwnName& own, const Addresses& addresses) {
  for (const Family family : kFamilies) {
    if (leads_to(own, family) && !is_reachable(addresses, family)) {
      return family;
    }
  }
  return std::nullopt;
}

// The name leads to one family only, and the way out of this host is the other.
std::optional<Family> missed_family(const host::OwnName& own, const Addresses& addresses) {
  for (const Family family : kFamilies) {
    const Family other = family == Family::Ipv4 ? Family::Ipv6 : Family::Ipv4;
    if (leads_to(own, family) && !leads_to(own, other) && !has_default_route(addresses, family) &&
        has_default_route(addresses, other)) {
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
  check.found += fmt::format(", the name leads to {}", families_text(leads_to(own, Family::Ipv4),
                                                                     leads_to(own, Family::Ipv6)));
  if (const std::optional<Family> dead = dead_family(own, addresses)) {
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
        "dual stack: RPC and Gloo may choose IPv4 although IPv6 was meant, and the other "
        "way round, on each host by itself";
    check.next_step = "give MASTER_ADDR as an address, not as a name, and the interface: " +
                      name_interface(addresses);
  } else if (!four && !six) {
    check.status = Status::Warning;
    check.why = "no interface has an address that another host could reach";
    check.next_step = "ip address";
  }
  checks.push_back(std::move(check));
}

}  // namespace

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
}

}  // namespace chokepoint::probe
