#include "probe/host/ip_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/host/kernel_text.h"

namespace chokepoint::probe {
namespace {

using host::Addresses;

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

void check_gloo(const Addresses& addresses, const std::string& value, Checks& checks) {
  Check check{.id = "names.gloo-interface",
              .subject = "GLOO_SOCKET_IFNAME",
              .found = value,
              .wanted = "names of interfaces, commas between them",
              .why = "Gloo binds the address of this interface"};
  for (const std::string& name : host::words_of(value, ",")) {
    if (name.find_first_of("^=") != std::string::npos) {
      check.status = Status::Critical;
      check.why = "Gloo knows no '^' and no '=': that is NCCL's way to write it";
    } else if (!exists(addresses, name)) {
      check.status = Status::Critical;
      check.why = fmt::format("there is no interface {}: the job fails as it starts", name);
    } else if (name == "lo") {
      check.status = Status::Critical;
      check.why = "loopback: no other host reaches it";
    }
  }
  check.next_step = fmt::format("export GLOO_SOCKET_IFNAME=NAME, one of {}",
                                fmt::join(addresses.interfaces, ", "));
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

void check_nccl(const Addresses& addresses, const std::string& value, Checks& checks) {
  const std::vector<std::string> chosen = chosen_by_nccl(addresses, value);
  Check check{.id = "names.nccl-interface",
              .subject = "NCCL_SOCKET_IFNAME",
              .found = fmt::format("{}: {}", value, fmt::join(chosen, ", ")),
              .why = "NCCL's sockets use these interfaces"};
  if (chosen.empty()) {
    check.status = Status::Critical;
    check.found = fmt::format("{}: no interface", value);
    check.why = "no interface of this host has such a name: NCCL fails as it starts";
    check.next_step = fmt::format("export NCCL_SOCKET_IFNAME==NAME, one of {}",
                                  fmt::join(addresses.interfaces, ", "));
  } else if (chosen.size() > 1 && !value.starts_with('=')) {
    check.status = Status::Info;
    check.why =
        "names are prefixes unless '=' stands before them: more interfaces than meant may "
        "match";
    check.next_step = fmt::format("export NCCL_SOCKET_IFNAME=={}", chosen.front());
  }
  checks.push_back(std::move(check));
}

}  // namespace

void check_ip(const Addresses& addresses, const host::Sysctls& sysctls, Checks& checks) {
  check_route(addresses, checks);
  check_forwarding(sysctls, checks);
  check_ipv6(addresses, sysctls, checks);
}

void check_interface_choice(const Addresses& addresses, const host::Process& process,
                            Checks& checks) {
  if (const std::optional<std::string> value = variable(process, "GLOO_SOCKET_IFNAME")) {
    check_gloo(addresses, *value, checks);
  }
  if (const std::optional<std::string> value = variable(process, "NCCL_SOCKET_IFNAME")) {
    check_nccl(addresses, *value, checks);
  }
}

}  // namespace chokepoint::probe
