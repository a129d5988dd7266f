#include "probe/host/nic_link_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/host/nic_rules.h"

namespace chokepoint::probe {
namespace {

constexpr std::int64_t kFallbackMbps = 100;
constexpr std::int64_t kJumboMtu = 8000;
constexpr std::int64_t kUsualMtu = 1500;
constexpr std::int64_t kSmallestIpv6Mtu = 1280;

// A port nobody plugged in is no finding; one that has an address or serves a bond is.
Status status_without_carrier(const host::Nic& nic) {
  return nic.enabled.value_or(true) && (has_address(nic) || nic.master) ? Status::Warning
                                                                        : Status::Info;
}

bool is_fastest_in_use(const host::Network& network, const host::Nic& nic) {
  return std::ranges::none_of(network.nics, [&](const host::Nic& other) {
    return is_in_use(other) && speed_or_zero(other) > speed_or_zero(nic);
  });
}

bool partner_is_limit(const host::Nic& nic) {
  const std::int64_t offered =
      nic.settings.modes ? nic.settings.modes->partner_fastest_mbps.value_or(0) : 0;
  return offered > 0 && offered <= speed_or_zero(nic);
}

Status status_of_slow_port(const host::Network& network, const host::Nic& nic) {
  const bool fastest = is_fastest_in_use(network, nic);
  // A switch that offers no more is a decision, not a fault.
  if (speed_or_zero(nic) > kFallbackMbps && partner_is_limit(nic)) {
    return Status::Info;
  }
  if (speed_or_zero(nic) <= kFallbackMbps) {
    return fastest ? Status::Critical : Status::Warning;
  }
  return fastest ? Status::Warning : Status::Info;
}

std::string members_without_carrier(const host::Network& network, const host::Bond& bond) {
  std::string names;
  for (const std::string& member : bond.members) {
    const host::Nic* nic = find(network, member);
    if (nic != nullptr && nic->carrier == false) {
      names += (names.empty() ? "" : " ") + member;
    }
  }
  return names;
}

bool hashes_addresses_only(const host::Bond& bond) {
  return (bond.mode == "802.3ad" || bond.mode == "balance-xor") && bond.members.size() > 1 &&
         bond.hash_policy && !bond.hash_policy->contains("3+4") &&
         !bond.hash_policy->contains("encap");
}

}  // namespace

void check_link(const host::Nic& nic, Checks& checks) {
  Check check = check_of("nic.link", nic, "a port without a link carries no job");
  if (nic.kind == host::NicKind::Unknown ||
      (is_port(nic) && !nic.carrier && nic.enabled != false)) {
    check.status = Status::Unknown;
    check.why = "sysfs does not show this interface here (a container?): nothing can be judged";
    check.next_step = "run on the host itself, or mount /sys read-only into the container";
    checks.push_back(std::move(check));
    return;
  }
  if (!is_port(nic) && nic.kind != host::NicKind::Paravirtual) {
    return;
  }
  check.found = is_up(nic) ? "up" : nic.enabled == false ? "disabled" : "no carrier";
  if (!is_up(nic)) {
    check.status = status_without_carrier(nic);
    check.wanted = check.status == Status::Warning ? "up" : "";
    check.next_step =
        fmt::format("ip link set {} up; check cable, transceiver and switch port", nic.name);
  }
  checks.push_back(std::move(check));
}

void check_speed(const host::Network& network, const host::Nic& nic, Checks& checks) {
  if (!is_in_use(nic)) {
    return;
  }
  Check check = check_of("nic.speed", nic, "a port below what it can do caps every transfer");
  const auto rate = line_rate_mbps(nic);
  const std::int64_t fastest =
      nic.settings.modes ? nic.settings.modes->fastest_mbps.value_or(0) : 0;
  if (!rate) {
    check.status = Status::Unknown;
    check.why = "the driver tells no speed";
    check.next_step = fmt::format("ethtool {}", nic.name);
  } else {
    check.found = format_mbps(static_cast<double>(*rate));
  }
  if (rate && *rate < fastest) {
    check.status = status_of_slow_port(network, nic);
    check.wanted = format_mbps(static_cast<double>(fastest));
    check.next_step = fmt::format(
        "ethtool {} (what both ends offer); then cable, transceiver and the switch port's speed",
        nic.name);
  }
  checks.push_back(std::move(check));
}

void check_duplex(const host::Nic& nic, Checks& checks) {
  if (!is_in_use(nic) || !nic.duplex) {
    return;
  }
  Check check = check_of("nic.duplex", nic, "half duplex: sending and receiving collide");
  check.found = *nic.duplex;
  check.wanted = "full";
  if (*nic.duplex == "half") {
    check.status = Status::Critical;
    check.next_step =
        fmt::format("ethtool -s {} autoneg on; the switch port must negotiate, too", nic.name);
  } else {
    check.why = "both directions at once";
  }
  checks.push_back(std::move(check));
}

void check_mtu(const host::Nic& nic, Checks& checks) {
  // InfiniBand's MTU follows from its mode.
  if (!is_in_use(nic) || !nic.mtu || nic.kind == host::NicKind::Infiniband) {
    return;
  }
  Check check =
      check_of("nic.mtu", nic, "each packet costs CPU: small ones cost several times more");
  check.found = std::to_string(*nic.mtu);
  const std::int64_t speed = speed_or_zero(nic);
  if (*nic.mtu < kSmallestIpv6Mtu) {
    check.status = Status::Warning;
    check.wanted = "1500 or more";
    check.why = "IPv6 needs 1280, and each packet costs CPU";
  } else if (*nic.mtu < kJumboMtu && speed >= kFastMbps) {
    check.status = speed >= kVeryFastMbps ? Status::Warning : Status::Info;
    check.wanted = "9000";
  } else if (*nic.mtu < kUsualMtu) {
    check.status = Status::Info;
    check.wanted = "1500";
  }
  if (check.status != Status::Pass) {
    check.next_step =
        fmt::format("ip link set {} mtu {}{}", nic.name, check.wanted == "9000" ? "9000" : "1500",
                    check.wanted == "9000" ? " (on every host and switch of it)" : "");
  }
  checks.push_back(std::move(check));
}

void check_bond(const host::Network& network, const host::Nic& nic, Checks& checks) {
  if (!nic.bond) {
    return;
  }
  Check check = check_of("nic.bond", nic, "a bond carries what its members carry");
  check.found = fmt::format("{} of {} members", nic.bond->mode, nic.bond->members.size());
  if (const std::string down = members_without_carrier(network, *nic.bond); !down.empty()) {
    check.status = Status::Warning;
    check.found += ", no carrier: " + down;
    check.wanted = "all members up";
    check.next_step = "cat /proc/net/bonding/" + nic.name;
  } else if (nic.bond->mode == "balance-rr") {
    check.status = Status::Warning;
    check.wanted = "802.3ad";
    check.why = "round robin reorders packets within a flow, which TCP takes for loss";
    check.next_step = fmt::format("ip link set {} type bond mode 802.3ad (bond down)", nic.name);
  } else if (hashes_addresses_only(*nic.bond)) {
    check.status = Status::Info;
    check.found += ", hash " + *nic.bond->hash_policy;
    check.wanted = "layer3+4";
    check.why = "all flows between two hosts share one member";
    check.next_step = fmt::format("ip link set {} type bond xmit_hash_policy layer3+4", nic.name);
  }
  checks.push_back(std::move(check));
}

}  // namespace chokepoint::probe
