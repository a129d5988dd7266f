#include "probe/pcie/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "measure/checks/pci_checks.h"
#include "probe/host/gpu_checks.h"

namespace chokepoint::probe::pcie {
namespace {

using checks::Check;
using checks::Checks;
using checks::Status;

constexpr std::string_view kInspectPeers =
    "nvidia-smi topo -p2p r; lspci -vvv | grep ACSCtl; cat /proc/cmdline";
// Of what the slower of both slots carries.
constexpr double kMinPeerShare = 0.6;

template <class T>
void replace_if_known(std::optional<T>& kept, const std::optional<T>& known) {
  if (known) {
    kept = known;
  }
}

void judge_network(const Slots& slots, Checks& checks) {
  for (const host::Nic& nic : slots.network.nics) {
    checks::check_pci_link(nic, checks);
    checks::check_pci_bandwidth(nic, checks);
    checks::check_pci_shared(slots.network, nic, checks);
    checks::check_pci_errors(nic, checks);
  }
  for (const host::RdmaDevice& device : slots.rdma) {
    if (!checks::is_judged_as_nic(device, slots.network)) {
      checks::check_rdma_pci(device, checks);
    }
  }
}

// Only endpoints on the root complex: a hypervisor, which does not show what is above them.
bool hides_bridges(const Slots& slots) {
  return std::ranges::all_of(slots.devices,
                             [](const Device& device) { return device.pci.path.size() == 1; });
}

void judge_nearness(const Slots& slots, std::size_t gpu, const host::Cpu& cpu, Checks& checks) {
  const auto nearest = nearest_to(slots, gpu);
  if (!nearest) {
    return;
  }
  Check check{.id = "pcie.nearest-nic",
              .subject = slots.devices[gpu].address,
              .found = fmt::format("{} ({})", labels_of(slots, nearest->devices),
                                   name_of(nearest->nearness)),
              .why = std::string(meaning_of(nearest->nearness))};
  if (cpu.virtualised.value_or(false) && hides_bridges(slots)) {
    check.status = Status::Info;
    check.why =
        "this virtual machine does not show the bridges above its devices: what is near to "
        "what is not known here, nor to NCCL";
    check.next_step = "NCCL_TOPO_FILE names a file that the provider has for this machine type";
  } else if (nearest->nearness == Nearness::Sys) {
    check.status = Status::Info;
    check.wanted = "a NIC on the GPU's own NUMA node";
    check.why = "what this GPU sends crosses the link between NUMA nodes";
  }
  checks.push_back(std::move(check));
}

const Device* device_at(const Slots& slots, const std::string& address) {
  const auto found = std::ranges::find(slots.devices, address, &Device::address);
  return found == slots.devices.end() ? nullptr : &*found;
}

std::optional<double> lesser_ceiling(const Slots& slots, const Measured& measured,
                                     const PeerOutcome& peers) {
  std::optional<double> least;
  for (const std::string& address : {peers.one, peers.other}) {
    const Device* device = device_at(slots, address);
    const auto ceiling =
        device == nullptr ? std::nullopt : ceiling_of(*device, outcome_of(*device, measured.gpus));
    if (!ceiling) {
      return std::nullopt;
    }
    least = std::min(least.value_or(ceiling->mbps), ceiling->mbps);
  }
  return least;
}

void judge_measured(const Slots& slots, const Measured& measured, const Thresholds& thresholds,
                    Checks& checks) {
  for (const GpuOutcome& outcome : measured.gpus) {
    // CUDA may show a GPU that neither sysfs nor NVML shows.
    const Device* known = device_at(slots, outcome.address);
    const Device unknown{.kind = Kind::Gpu,
                         .address = outcome.address.empty() ? fmt::format("GPU {}", outcome.number)
                                                            : outcome.address};
    judge_gpu(known == nullptr ? unknown : *known, outcome, measured.cpus, thresholds, checks);
  }
  for (const PeerOutcome& peers : measured.peers) {
    judge_peers(peers, lesser_ceiling(slots, measured, peers), checks);
  }
}

// CUDA does not see the GPUs that are there.
void judge_unmeasured(const Slots& slots, const Measured* measured, Checks& checks) {
  if (measured == nullptr || !measured->problem || slots.gpus.gpus.empty()) {
    return;
  }
  checks.push_back({.id = "pcie.measured",
                    .status = Status::Unknown,
                    .subject = "host",
                    .why = describe(*measured->problem),
                    .next_step = "nvidia-smi"});
}

Check begin(const PeerOutcome& outcome) {
  return {.id = "pcie.peers",
          .subject = outcome.one + " - " + outcome.other,
          .why = "GPUs of one host exchange gradients this way"};
}

Check of_staged(const PeerOutcome& outcome) {
  Check check = begin(outcome);
  check.status = Status::Warning;
  check.found = "not directly";
  if (outcome.staged.there_mbps) {
    check.found +=
        fmt::format("; {} through host memory", format_gigabytes(*outcome.staged.there_mbps));
  }
  check.wanted = "straight from GPU to GPU";
  check.why = "the driver lets neither reach the other's memory: every byte goes through the host";
  check.next_step = kInspectPeers;
  return check;
}

Check of_direct(const PeerOutcome& outcome, std::optional<double> ceiling_mbps) {
  Check check = begin(outcome);
  const double there = *outcome.direct.there_mbps;
  const double back = outcome.direct.back_mbps.value_or(there);
  const double both = outcome.direct.both_mbps.value_or(there + back);
  check.found = fmt::format("{} there, {} back, {} in both directions", format_gigabytes(there),
                            format_gigabytes(back), format_gigabytes(both));
  const double slower = std::min(there, back);
  const bool is_slow = both < std::max(there, back) * kMinDuplexGain ||
                       (ceiling_mbps && slower < *ceiling_mbps * kMinPeerShare);
  if (is_slow && is_too_small_to_judge(outcome.bytes, check)) {
    return check;
  }
  if (both < std::max(there, back) * kMinDuplexGain) {
    check.status =
        both < std::max(there, back) * kCriticalDuplexGain ? Status::Critical : Status::Warning;
    check.wanted = fmt::format("{} or more in both directions",
                               format_gigabytes(std::max(there, back) * kMinDuplexGain));
    check.why =
        "traffic between GPUs goes up to the processor and down again (ACS, an IOMMU): 101 "
        "GB/s in both directions were seen to become 7";
  } else if (ceiling_mbps && slower < *ceiling_mbps * kMinPeerShare) {
    check.status = Status::Warning;
    check.wanted = fmt::format("{} or more", format_gigabytes(*ceiling_mbps * kMinPeerShare));
    check.why = "between these GPUs much less arrives than their slots carry";
  } else if (ceiling_mbps && slower > *ceiling_mbps) {
    check.found += "; more than PCIe carries: over NVLink";
  }
  check.next_step = check.status == Status::Pass ? "" : std::string(kInspectPeers);
  return check;
}

}  // namespace

host::PciDevice under_load(const Device& device, const GpuOutcome* outcome) {
  host::PciDevice pci = device.pci;
  if (device.kind != Kind::Gpu) {
    return pci;
  }
  const bool was_seen = outcome != nullptr && outcome->link.looks > 0;
  if (was_seen && outcome->link.hops.size() == pci.path.size()) {
    pci.path = outcome->link.hops;
  }
  if (pci.path.empty()) {
    // In a container the driver may show a GPU that sysfs does not.
    pci.path.push_back({.address = device.address});
  }
  host::PciHop& own = pci.path.back();
  const host::PciLink& link = was_seen ? outcome->link.best : device.possible;
  replace_if_known(own.current.speed_gts, link.speed_gts);
  replace_if_known(own.current.width, link.width);
  replace_if_known(own.possible.speed_gts, device.possible.speed_gts);
  replace_if_known(own.possible.width, device.possible.width);
  // The other end of the GPU's own link idles with it.
  if (pci.path.size() > 1) {
    pci.path[pci.path.size() - 2].current = own.current;
  }
  return pci;
}

std::optional<Ceiling> ceiling_of(const Device& device, const GpuOutcome* outcome) {
  const host::PciDevice pci = under_load(device, outcome);
  const auto mbps = host::ceiling_mbps(pci);
  const host::PciHop* hop = host::narrowest_hop(pci);
  if (!mbps || hop == nullptr) {
    return std::nullopt;
  }
  const auto payload = host::payload_of(pci);
  return Ceiling{.mbps = *mbps,
                 .hop = *hop,
                 .payload_bytes = payload.value_or(host::kUsualPayloadBytes),
                 .payload_is_known = payload.has_value()};
}

const GpuOutcome* outcome_of(const Device& device, const std::vector<GpuOutcome>& outcomes) {
  const auto found = std::ranges::find(outcomes, device.address, &GpuOutcome::address);
  return device.kind == Kind::Gpu && found != outcomes.end() ? &*found : nullptr;
}

Checks judge(const Slots& slots, const host::Cpu& cpu, const Measured* measured,
             const Thresholds& thresholds) {
  Checks checks;
  if (measured != nullptr && !measured->gpus.empty()) {
    judge_measured(slots, *measured, thresholds, checks);
  } else {
    check_gpus(slots.gpus, cpu, !slots.rdma.empty(), checks);
    judge_unmeasured(slots, measured, checks);
  }
  for (std::size_t i = 0; i < slots.devices.size(); ++i) {
    if (slots.devices[i].kind == Kind::Gpu) {
      judge_nearness(slots, i, cpu, checks);
    }
  }
  judge_network(slots, checks);
  return checks;
}

void judge_peers(const PeerOutcome& outcome, std::optional<double> ceiling_mbps,
                 checks::Checks& checks) {
  if (outcome.reachable == false) {
    checks.push_back(of_staged(outcome));
  } else if (outcome.direct.there_mbps) {
    checks.push_back(of_direct(outcome, ceiling_mbps));
  }
  for (const std::string& problem : outcome.problems) {
    Check check = begin(outcome);
    check.status = Status::Warning;
    check.why = problem;
    check.next_step = "nvidia-smi; dmesg | grep -i -e nvrm -e xid";
    checks.push_back(std::move(check));
  }
  if (!outcome.wrong.empty()) {
    Check check = begin(outcome);
    check.id = "pcie.data";
    check.status = Status::Critical;
    check.found = fmt::format("{}", fmt::join(outcome.wrong, "; "));
    check.wanted = "all as it was sent";
    check.why = "data changed between the GPUs: an IOMMU or ACS in the way, or broken hardware";
    check.next_step = kInspectPeers;
    checks.push_back(std::move(check));
  }
}

}  // namespace chokepoint::probe::pcie
