#include "probe/host/nic_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/net/headers.h"

namespace chokepoint::probe {
namespace {

using Counts = std::vector<net::Statistic>;

constexpr std::int64_t kFallbackMbps = 100;
// Of all packets. A sound link has less than one bad packet in 10^7; TCP's throughput suffers from
// one lost packet in 10^5; a pause per 10^4 packets is a receiver at its limit.
constexpr double kErrorShare = 1e-6;
constexpr double kDropShare = 1e-5;
constexpr double kPauseShare = 1e-4;
// A start, a change of settings and a restart or two of the switch are no finding.
constexpr std::int64_t kManyFlaps = 20;

// A port without a cable is no finding, unless it has an address or serves a bond.
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

constexpr double kNearlyAll = 0.95;
constexpr std::int64_t kEnoughPackets = 1'000'000;

struct MemberShare {
  std::string name = {};
  double share = 0;
};

// The member that sent nearly all that a hash over flows was to spread; nothing where it spread
// them, has sent too little to judge, or has no choice.
std::optional<MemberShare> lone_sender(const host::Network& network, const host::Bond& bond) {
  if (bond.mode != "802.3ad" && bond.mode != "balance-xor") {
    return std::nullopt;
  }
  std::int64_t bytes = 0;
  std::int64_t packets = 0;
  std::size_t up = 0;
  const host::Nic* most = nullptr;
  const auto sent = [](const host::Nic& nic) { return counter(nic, "tx_bytes").value_or(0); };
  for (const std::string& member : bond.members) {
    const host::Nic* nic = find(network, member);
    if (nic == nullptr || !counter(*nic, "tx_bytes")) {
      return std::nullopt;
    }
    up += is_up(*nic) ? 1 : 0;
    bytes += sent(*nic);
    packets += counter(*nic, "tx_packets").value_or(0);
    most = most == nullptr || sent(*nic) > sent(*most) ? nic : most;
  }
  if (up < 2 || packets < kEnoughPackets || bytes <= 0) {
    return std::nullopt;
  }
  const double share = static_cast<double>(sent(*most)) / static_cast<double>(bytes);
  return share >= kNearlyAll ? std::optional(MemberShare{most->name, share}) : std::nullopt;
}

void judge_hash(const host::Network& network, const host::Nic& nic, Check& check) {
  const std::string policy = nic.bond->hash_policy.value_or("not known");
  const bool addresses_only = hashes_addresses_only(*nic.bond);
  const std::optional<MemberShare> lone = lone_sender(network, *nic.bond);
  if (!lone && !addresses_only) {
    return;
  }
  check.status = lone ? Status::Warning : Status::Info;
  check.found += ", hash " + policy;
  check.wanted = "layer3+4";
  check.why = "all flows between two hosts share one member";
  check.next_step = fmt::format("ip link set {} type bond xmit_hash_policy layer3+4", nic.name);
  if (lone) {
    check.found +=
        fmt::format(", {} sent {:.0f} % of all since boot", lone->name, lone->share * 100);
    check.why = "the other members carry nothing: the bond is as fast as one of them";
  }
  if (lone && !addresses_only) {
    check.wanted = "flows on all members";
    check.next_step =
        "export NCCL_SOCKET_NTHREADS=2 NCCL_NSOCKS_PERTHREAD=4 NCCL_IB_QPS_PER_CONNECTION=4"
        "  # more flows between two hosts; RoCE: see what the card hashes by";
  }
}

constexpr std::array<std::string_view, 7> kErrorCounters{
    "rx_errors",        "tx_errors",         "rx_crc_errors",    "rx_frame_errors",
    "rx_length_errors", "tx_carrier_errors", "tx_aborted_errors"};
constexpr std::array<std::string_view, 5> kDropCounters{
    "rx_missed_errors", "rx_fifo_errors", "rx_over_errors", "tx_fifo_errors", "tx_dropped"};
constexpr std::array<std::string_view, 7> kDropWords{
    "out_of_buffer", "discard", "missed", "no_buffer", "no_dma_resources", "rx_dropped", "overrun"};
// Packets that a rule dropped, and counters that only look like drops.
constexpr std::array<std::string_view, 3> kHarmlessWords{"xdp", "steer", "filter"};

bool contains_any(std::string_view name, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](auto word) { return name.contains(word); });
}

void add_counters(const host::Nic& nic, std::span<const std::string_view> names, Counts& counts) {
  for (const std::string_view name : names) {
    const auto value = counter(nic, std::string(name));
    if (value && *value > 0) {
      counts.push_back({std::string(name), *value});
    }
  }
}

Counts drops_of(const host::Nic& nic) {
  Counts counts;
  add_counters(nic, kDropCounters, counts);
  for (const net::Statistic& statistic : nic.settings.statistics) {
    if (statistic.value > 0 && contains_any(statistic.name, kDropWords) &&
        !contains_any(statistic.name, kHarmlessWords)) {
      counts.push_back(statistic);
    }
  }
  return counts;
}

// "rx_prio3_pause" and "tx_priority_3_xoff.nic", but not the counters of their duration.
Counts pauses_of(const host::Nic& nic, std::string_view direction) {
  constexpr std::array<std::string_view, 2> kWords{"pause", "xoff"};
  constexpr std::array<std::string_view, 4> kOther{"duration", "transition", "storm", "xon_"};
  Counts counts;
  for (const net::Statistic& statistic : nic.settings.statistics) {
    if (statistic.value > 0 && statistic.name.contains(direction) &&
        contains_any(statistic.name, kWords) && !contains_any(statistic.name, kOther)) {
      counts.push_back(statistic);
    }
  }
  return counts;
}

std::int64_t largest(const Counts& counts) {
  std::int64_t value = 0;
  for (const net::Statistic& count : counts) {
    value = std::max(value, count.value);
  }
  return value;
}

// The three largest: "rx_out_of_buffer 1234, rx_discards_phy 12".
std::string words_of(Counts counts) {
  std::ranges::sort(counts, std::greater(), &net::Statistic::value);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(counts.size(), 3); ++i) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[i].name, counts[i].value);
  }
  return text;
}

std::int64_t packets_of(const host::Nic& nic) {
  return counter(nic, "rx_packets").value_or(0) + counter(nic, "tx_packets").value_or(0);
}

// A few since boot are Info; more than this share of the traffic is a Warning.
Status status_of(const host::Nic& nic, const Counts& counts, double share) {
  const std::int64_t worst = largest(counts);
  if (worst == 0) {
    return Status::Pass;
  }
  const auto packets = static_cast<double>(packets_of(nic));
  return static_cast<double>(worst) > packets * share ? Status::Warning : Status::Info;
}

// Can the port's counters be read?
bool is_counted(const host::Nic& nic) {
  return is_in_use(nic) && (!nic.counters.empty() || !nic.settings.statistics.empty());
}

void finish(Check check, const host::Nic& nic, const Counts& counts, double share, Checks& checks) {
  check.status = status_of(nic, counts, share);
  check.found = counts.empty() ? "0" : words_of(counts);
  if (check.status == Status::Pass) {
    check.next_step.clear();
  } else {
    check.found += fmt::format(" in {} packets", packets_of(nic));
    check.wanted = fmt::format("less than 1 in {:.0f}", 1 / share);
  }
  checks.push_back(std::move(check));
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
        fmt::format("ip link set {} up  # then check cable, transceiver and switch port", nic.name);
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
    check.why = "the driver reports no speed";
    check.next_step = fmt::format("ethtool {}", nic.name);
  } else {
    check.found = format_mbps(static_cast<double>(*rate));
  }
  if (rate && *rate < fastest) {
    check.status = status_of_slow_port(network, nic);
    check.wanted = format_mbps(static_cast<double>(fastest));
    check.next_step = fmt::format(
        "ethtool {}  # what both ends offer; then cable, transceiver and speed of the switch port",
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
        fmt::format("ethtool -s {} autoneg on  # the switch port must negotiate, too", nic.name);
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
  if (*nic.mtu < net::kMinIpv6Mtu) {
    check.status = Status::Warning;
    check.wanted = "1500 or more";
    check.why = "IPv6 needs 1280, and each packet costs CPU";
  } else if (*nic.mtu < kJumboMtu && speed >= kFastMbps) {
    check.status = speed >= kVeryFastMbps ? Status::Warning : Status::Info;
    check.wanted = "9000";
  } else if (*nic.mtu < net::kEthernetMtu) {
    check.status = Status::Info;
    check.wanted = "1500";
  }
  if (check.status != Status::Pass) {
    check.next_step =
        fmt::format("ip link set {} mtu {}{}", nic.name, check.wanted == "9000" ? "9000" : "1500",
                    check.wanted == "9000" ? "  # on every host and switch of it" : "");
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
    check.next_step =
        fmt::format("ip link set {} type bond mode 802.3ad  # with the bond down", nic.name);
  } else {
    judge_hash(network, nic, check);
  }
  checks.push_back(std::move(check));
}

void check_errors(const host::Nic& nic, Checks& checks) {
  if (!is_counted(nic)) {
    return;
  }
  Counts counts;
  add_counters(nic, kErrorCounters, counts);
  Check check =
      check_of("nic.errors", nic, "packets broken on the wire are lost: cable, optics, dirt");
  check.next_step = fmt::format(
      "ethtool -m {0}; ethtool -S {0} | grep -i err"
      "  # clean or change cable and transceiver",
      nic.name);
  finish(std::move(check), nic, counts, kErrorShare, checks);
}

void check_drops(const host::Nic& nic, Checks& checks) {
  if (!is_counted(nic)) {
    return;
  }
  Check check = check_of("nic.drops", nic,
                         "the host took packets off the wire too slowly, and TCP sees loss");
  check.next_step = fmt::format(
      "ethtool -S {0} | grep -iE 'drop|discard|missed|buffer'"
      "  # then longer rings (ethtool -G) and more queues (ethtool -L)",
      nic.name);
  finish(std::move(check), nic, drops_of(nic), kDropShare, checks);
}

void check_pauses(const host::Nic& nic, Checks& checks) {
  if (!is_counted(nic) || nic.settings.statistics.empty()) {
    return;
  }
  const Counts sent = pauses_of(nic, "tx");
  Counts counts = pauses_of(nic, "rx");
  const bool host_is_slow = largest(sent) >= largest(counts);
  counts.insert(counts.end(), sent.begin(), sent.end());
  Check check = check_of("nic.pauses", nic,
                         counts.empty() ? "no side asked the other to stop"
                         : host_is_slow ? "this host cannot drain its port and stops the network"
                                        : "the network cannot absorb and stops this host");
  check.next_step =
      fmt::format("ethtool -S {} | grep -iE 'pause|xoff'  # twice during a job", nic.name);
  finish(std::move(check), nic, counts, kPauseShare, checks);
}

void check_flaps(const host::Nic& nic, Checks& checks) {
  const auto changes = counter(nic, "carrier_changes");
  if (!is_in_use(nic) || !changes) {
    return;
  }
  Check check = check_of("nic.flaps", nic, "each loss of the link stalls every flow for a second");
  check.found = fmt::format("{} carrier changes since boot", *changes);
  if (*changes >= kManyFlaps) {
    check.status = Status::Info;
    check.next_step = fmt::format("dmesg -T | grep -i '{}.*link'", nic.name);
  }
  checks.push_back(std::move(check));
}

}  // namespace chokepoint::probe
