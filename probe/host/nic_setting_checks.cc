#include "probe/host/nic_setting_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/host/kernel_text.h"

namespace chokepoint::probe {
namespace {

// Beyond this a longer ring only adds delay and misses the cache.
constexpr std::int64_t kLongestUsefulRing = 8192;
constexpr std::int64_t kSmallRing = 1024;
// Below the defaults of every 1G driver.
constexpr std::int64_t kTinyRing = 128;
// No port needs more queues.
constexpr std::int64_t kEnoughQueues = 8;

std::int64_t wanted_ring(std::optional<std::int64_t> maximum) {
  return std::min(maximum.value_or(0), kLongestUsefulRing);
}

bool is_short(std::optional<std::int64_t> ring, std::optional<std::int64_t> maximum) {
  return ring && maximum && *ring < wanted_ring(maximum);
}

// At 100G a ring may fill within 100 us; at 1G the default lasts for milliseconds.
Status status_of_rings(const net::Rings& rings, std::int64_t speed) {
  if (!is_short(rings.rx, rings.rx_max) && !is_short(rings.tx, rings.tx_max)) {
    return Status::Pass;
  }
  const std::int64_t smallest =
      std::min(rings.rx.value_or(kLongestUsefulRing), rings.tx.value_or(kLongestUsefulRing));
  if (speed >= kVeryFastMbps || (speed >= kFastMbps && smallest < kSmallRing)) {
    return Status::Warning;
  }
  return speed >= kFastMbps || smallest < kTinyRing ? Status::Info : Status::Pass;
}

std::string ring_command(const std::string& interface, const net::Rings& rings) {
  std::string command = "ethtool -G " + interface;
  if (is_short(rings.rx, rings.rx_max)) {
    command += fmt::format(" rx {}", wanted_ring(rings.rx_max));
  }
  if (is_short(rings.tx, rings.tx_max)) {
    command += fmt::format(" tx {}", wanted_ring(rings.tx_max));
  }
  return command;
}

std::string or_question(std::optional<std::int64_t> value) {
  return value ? std::to_string(*value) : "?";
}

bool is_shaper(const std::string& kind) {
  return kind == "netem" || kind == "tbf" || kind == "htb" || kind == "hfsc";
}

bool is_fair(const std::string& kind) {
  return kind == "fq" || kind == "fq_codel" || kind == "fq_pie";
}

struct QueueCount {
  std::int64_t current;
  std::int64_t maximum;
  std::string_view name;  // as ethtool -L takes it
};

std::optional<QueueCount> receive_queues(const host::Nic& nic) {
  if (!nic.settings.channels) {
    return std::nullopt;
  }
  const net::Channels& channels = *nic.settings.channels;
  if (channels.combined_max.value_or(0) > 0) {
    return QueueCount{channels.combined.value_or(0), *channels.combined_max, "combined"};
  }
  if (channels.rx_max.value_or(0) > 0) {
    return QueueCount{channels.rx.value_or(0), *channels.rx_max, "rx"};
  }
  return std::nullopt;
}

struct Offload {
  std::string_view word;    // as ethtool -K takes it
  std::string_view prefix;  // of the kernel's names; on where one of them is on
};

constexpr std::array<Offload, 5> kWanted{Offload{"gro", "rx-gro"},
                                         {"gso", "tx-generic-segmentation"},
                                         {"tso", "tx-tcp-segmentation"},
                                         {"rx", "rx-checksum"},
                                         {"tx", "tx-checksum-ip"}};

struct State {
  bool known = false;
  bool active = false;
  bool fixed = true;
};

State state_of(const host::Nic& nic, std::string_view prefix) {
  State state;
  for (const net::Feature& feature : nic.settings.features) {
    // "rx-gro" must not match "rx-gro-hw" and "rx-gro-list"; checksum features have several names:
    // tx-checksum-ipv4, tx-checksum-ip-generic.
    const bool same =
        prefix == "tx-checksum-ip" ? feature.name.starts_with(prefix) : feature.name == prefix;
    if (same) {
      state.known = true;
      state.active |= feature.active;
      state.fixed &= feature.fixed;
    }
  }
  return state;
}

struct Missing {
  std::string names;
  std::string command;
};

Missing missing_offloads(const host::Nic& nic) {
  Missing missing;
  for (const Offload& offload : kWanted) {
    const State state = state_of(nic, offload.prefix);
    if (!state.known || state.active) {
      continue;
    }
    missing.names += fmt::format("{}{} off", missing.names.empty() ? "" : ", ", offload.word);
    if (!state.fixed) {
      missing.command += fmt::format(" {} on", offload.word);
    }
  }
  const State lro = state_of(nic, "rx-lro");
  if (lro.known && lro.active && speed_or_zero(nic) >= kFastMbps) {
    missing.names += missing.names.empty() ? "lro on" : ", lro on";
    missing.command += lro.fixed ? "" : " lro off";
  }
  return missing;
}

constexpr std::int64_t kNumaMattersMbps = 25'000;

std::set<int> serving_cpus(const host::Nic& nic) {
  std::set<int> cpus;
  for (const host::Interrupt& interrupt : nic.interrupts) {
    if (interrupt.cpus) {
      cpus.insert(interrupt.cpus->begin(), interrupt.cpus->end());
    }
  }
  return cpus;
}

host::CpuSet local_cpus(const host::Nic& nic) {
  return nic.pci ? host::cpus_of(nic.pci->local_cpus.value_or("")) : host::CpuSet();
}

std::size_t count_known(const host::Nic& nic) {
  return static_cast<std::size_t>(std::ranges::count_if(
      nic.interrupts, [](const host::Interrupt& interrupt) { return interrupt.cpus.has_value(); }));
}

// Queues that no CPU of the port's own node serves.
std::size_t count_remote(const host::Nic& nic, const host::CpuSet& local) {
  return static_cast<std::size_t>(
      std::ranges::count_if(nic.interrupts, [&](const host::Interrupt& interrupt) {
        return interrupt.cpus && std::ranges::none_of(*interrupt.cpus, [&](int cpu) {
                 return std::ranges::binary_search(local, cpu);
               });
      }));
}

std::string spread_command(const host::Nic& nic) {
  return fmt::format(
      "systemctl stop irqbalance; for i in $(ls /sys/class/net/{}/device/msi_irqs); "
      "do echo {} > /proc/irq/$i/smp_affinity_list; done",
      nic.name, nic.pci ? nic.pci->local_cpus.value_or("0") : "0");
}

}  // namespace

void check_settings_readable(const host::Network& network, const host::Nic& nic, Checks& checks) {
  const host::LinkAnswers& settings = nic.settings;
  if (!is_in_use(nic) || settings.rings || settings.channels || !settings.features.empty()) {
    return;
  }
  Check check =
      check_of("nic.settings", nic, "rings, queues, coalescing and offloads could not be read: ");
  check.status = Status::Unknown;
  check.why += network.query_problem.value_or("the driver does not answer");
  check.next_step = fmt::format("ethtool -g {0}; ethtool -l {0}; ethtool -k {0}", nic.name);
  checks.push_back(std::move(check));
}

void check_rings(const host::Nic& nic, Checks& checks) {
  if (!is_in_use(nic) || !nic.settings.rings || !nic.settings.rings->rx) {
    return;
  }
  const net::Rings& rings = *nic.settings.rings;
  Check check = check_of("nic.rings", nic,
                         "a burst that finds the receive ring full is dropped without a trace");
  check.found =
      fmt::format("rx {} of {}, tx {} of {}", or_question(rings.rx), or_question(rings.rx_max),
                  or_question(rings.tx), or_question(rings.tx_max));
  check.status = status_of_rings(rings, speed_or_zero(nic));
  if (check.status != Status::Pass) {
    check.wanted =
        fmt::format("rx {}, tx {}", wanted_ring(rings.rx_max), wanted_ring(rings.tx_max));
    check.next_step = ring_command(nic.name, rings);
  }
  checks.push_back(std::move(check));
}

void check_coalescing(const host::Nic& nic, Checks& checks) {
  const auto& coalescing = nic.settings.coalescing;
  if (!is_in_use(nic) || speed_or_zero(nic) < kFastMbps || !coalescing ||
      !coalescing->adaptive_rx) {
    return;
  }
  Check check = check_of("nic.coalescing", nic,
                         "an interrupt for each packet costs a CPU; long waits cost latency");
  const std::int64_t usecs = coalescing->rx_usecs.value_or(0);
  check.found =
      fmt::format("adaptive rx {}, {} us", *coalescing->adaptive_rx ? "on" : "off", usecs);
  if (!*coalescing->adaptive_rx) {
    const bool each_packet = usecs <= 1 && coalescing->rx_frames.value_or(0) <= 1;
    check.status = each_packet ? Status::Warning : Status::Info;
    check.wanted = "adaptive rx on";
    check.next_step = fmt::format("ethtool -C {} adaptive-rx on", nic.name);
  }
  checks.push_back(std::move(check));
}

void check_qdisc(const host::Nic& nic, Checks& checks) {
  const std::vector<std::string>& qdiscs = nic.settings.qdiscs;
  if (!is_in_use(nic) || qdiscs.empty()) {
    return;
  }
  Check check =
      check_of("nic.qdisc", nic, "fair queues keep one flow's burst from delaying others");
  check.found = fmt::format("{}", fmt::join(qdiscs, " "));
  const std::int64_t speed = speed_or_zero(nic);
  if (std::ranges::any_of(qdiscs, is_shaper)) {
    check.status = Status::Warning;
    check.why = "a shaper or emulator holds this port below its speed";
    check.wanted = "fq or fq_codel";
    check.next_step = fmt::format("tc -s qdisc show dev {}", nic.name);
  } else if (std::ranges::find(qdiscs, "cake") != qdiscs.end()) {
    // It shapes only if a bandwidth is set, which the name does not show; it is fair always.
    check.status = Status::Info;
    check.why = "cake holds this port below its speed if a bandwidth is set for it";
    check.next_step = fmt::format("tc -s qdisc show dev {}", nic.name);
  } else if (speed >= kFastMbps && std::ranges::none_of(qdiscs, is_fair)) {
    check.status = speed >= kVeryFastMbps ? Status::Warning : Status::Info;
    check.wanted = "fq or fq_codel";
    check.next_step =
        fmt::format("sysctl -w net.core.default_qdisc=fq; tc qdisc replace dev {} root {}",
                    nic.name, nic.tx_queues > 1 ? "mq" : "fq");
  }
  checks.push_back(std::move(check));
}

void check_queues(const host::Network& network, const host::Nic& nic, Checks& checks) {
  const std::optional<QueueCount> queues = receive_queues(nic);
  if (!is_in_use(nic) || speed_or_zero(nic) < kFastMbps || !queues || network.cpus == 0) {
    return;
  }
  Check check =
      check_of("nic.queues", nic,
               "each receive queue is drained by one CPU, and one CPU drains 10 to 30 Gb/s");
  check.found = fmt::format("{} of {}", queues->current, queues->maximum);
  const std::int64_t possible = std::min<std::int64_t>(queues->maximum, network.cpus);
  const std::int64_t needed = speed_or_zero(nic) >= kVeryFastMbps
                                  ? std::min(possible, kEnoughQueues)
                                  : std::min<std::int64_t>(possible, 2);
  if (queues->current < needed) {
    check.status = nic.rps_queues > 0 ? Status::Info : Status::Warning;
    check.wanted = fmt::format("at least {}", needed);
    check.next_step = fmt::format("ethtool -L {} {} {}", nic.name, queues->name, possible);
  }
  checks.push_back(std::move(check));
}

void check_offloads(const host::Nic& nic, Checks& checks) {
  if (!is_in_use(nic) || nic.settings.features.empty()) {
    return;
  }
  Check check = check_of("nic.offloads", nic,
                         "without them the CPU handles every packet of 1500 bytes by itself");
  const Missing missing = missing_offloads(nic);
  check.found = missing.names.empty() ? "on" : missing.names;
  if (!missing.names.empty()) {
    const bool can_be_fixed = !missing.command.empty();
    check.status = can_be_fixed && speed_or_zero(nic) >= kFastMbps ? Status::Warning : Status::Info;
    check.wanted = "gro gso tso and checksums on, lro off";
    check.next_step = can_be_fixed ? fmt::format("ethtool -K {}{}", nic.name, missing.command) : "";
  }
  checks.push_back(std::move(check));
}

void check_irq(const host::Network& network, const host::Nic& nic, Checks& checks) {
  const std::size_t queues = count_known(nic);
  if (!is_in_use(nic) || speed_or_zero(nic) < kFastMbps || nic.interrupts.empty()) {
    return;
  }
  Check check = check_of("nic.irq", nic, "queues that share a CPU are no faster than one queue");
  const std::set<int> cpus = serving_cpus(nic);
  if (queues == 0) {
    check.status = Status::Unknown;
    check.why = "/proc/irq does not show which CPUs serve the queues";
  } else {
    check.found =
        fmt::format("{} queues on CPUs {}", queues, host::list_of_cpus({cpus.begin(), cpus.end()}));
  }
  if (queues > 1 && cpus.size() == 1 && network.cpus > 1) {
    check.status = nic.rps_queues > 0 ? Status::Info : Status::Warning;
    check.wanted = "one CPU for each queue";
    check.next_step = spread_command(nic);
  }
  checks.push_back(std::move(check));
}

void check_nic_numa(const host::Network& network, const host::Nic& nic, Checks& checks) {
  if (!is_in_use(nic) || speed_or_zero(nic) < kFastMbps || network.numa_nodes < 2) {
    return;
  }
  Check check =
      check_of("nic.numa", nic, "packets that cross between sockets cost bandwidth and delay");
  if (!nic.numa_node) {
    check.status = speed_or_zero(nic) >= kNumaMattersMbps ? Status::Unknown : Status::Info;
    check.why = "the firmware names no NUMA node for this port";
    checks.push_back(std::move(check));
    return;
  }
  check.found = fmt::format("node {}", *nic.numa_node);
  const host::CpuSet local = local_cpus(nic);
  const std::size_t remote = local.empty() ? 0 : count_remote(nic, local);
  if (remote > 0) {
    const bool most = remote * 2 > count_known(nic);
    const bool fast = speed_or_zero(nic) >= kNumaMattersMbps;
    check.status = most && fast ? Status::Warning : Status::Info;
    check.found += fmt::format(", {} of {} queues served by other nodes", remote, count_known(nic));
    check.wanted = fmt::format("served by CPUs {}", *nic.pci->local_cpus);
    check.next_step = spread_command(nic);
  }
  checks.push_back(std::move(check));
}

}  // namespace chokepoint::probe
