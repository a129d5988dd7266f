#include "probe/pcie/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checks/pci_checks.h"
#include "probe/host/gpu_checks.h"
#include "probe/pcie/affinity.h"
#include "probe/pcie/ceiling.h"

namespace chokepoint::probe::pcie {
namespace {

using checks::Check;
using checks::Checks;
using checks::Status;

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

std::string labels(const Slots& slots, const std::vector<std::size_t>& numbers) {
  std::string text;
  for (const std::size_t number : numbers) {
    text += (text.empty() ? "" : ", ") + label_of(slots.devices[number]);
  }
  return text;
}

// A root complex of endpoints alone is a hypervisor's: what is above them is not shown.
bool hides_bridges(const Slots& slots) {
  return std::ranges::all_of(slots.devices,
                             [](const Device& device) { return device.pci.path.size() == 1; });
}

void judge_nearness(const Slots& slots, std::size_t gpu, const host::Cpu& cpu, Checks& checks) {
  const auto nearest = nearest_to(slots, gpu);
  if (!nearest) {
    return;
  }
  Check check{
      .id = "pcie.nearest-nic",
      .subject = slots.devices[gpu].address,
      .found = fmt::format("{} ({})", labels(slots, nearest->devices), name_of(nearest->nearness)),
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
    // What neither sysfs nor NVML shows CUDA may.
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

// GPUs are there, and CUDA does not see them.
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

}  // namespace

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

}  // namespace chokepoint::probe::pcie
