#include "probe/host/irq_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/host/kernel_text.h"
#include "probe/host/nic_rules.h"

namespace chokepoint::probe {
namespace {

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

void check_irq(const host::Network& network, const host::Nic& nic, Checks& checks) {
  const std::size_t queues = count_known(nic);
  if (!is_in_use(nic) || speed_or_zero(nic) < kFastMbps || nic.interrupts.empty()) {
    return;
  }
  Check check = check_of("nic.irq", nic, "queues that share a CPU are no faster than one queue");
  const std::set<int> cpus = serving_cpus(nic);
  if (queues == 0) {
    check.status = Status::Unknown;
    check.why = "/proc/irq does not tell which CPUs serve the queues";
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
