#include "probe/host/gpu_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace chokepoint::probe {
namespace {

using host::Gpu;
using host::Gpus;

constexpr int kBusyPercent = 5;
constexpr int kSlowestBusyState = 2;  // P0 to P2 are the states of a GPU at work
constexpr std::int64_t kManyReplays = 1000;

enum class Load { Idle, Awake, Busy, Unknown };

Load load_of(const Gpu& gpu) {
  if (gpu.utilisation_percent.value_or(0) >= kBusyPercent) {
    return Load::Busy;
  }
  if (gpu.performance_state) {
    return *gpu.performance_state <= kSlowestBusyState ? Load::Awake : Load::Idle;
  }
  return gpu.utilisation_percent ? Load::Idle : Load::Unknown;
}

std::string load_text(const Gpu& gpu) {
  std::string text;
  if (gpu.performance_state) {
    text += fmt::format(", P{}", *gpu.performance_state);
  }
  if (gpu.utilisation_percent) {
    text += fmt::format(", {} % busy", *gpu.utilisation_percent);
  }
  return text;
}

void judge_slow(const Gpu& gpu, Check& check) {
  check.next_step = fmt::format(
      "nvidia-smi -i {} --query-gpu=pcie.link.gen.current,pcie.link.gen.max,pstate --format=csv"
      "  # during the job; then dmesg | grep -i -e pcie -e nvrm; reseat the card or its riser",
      gpu.address);
  switch (load_of(gpu)) {
    case Load::Busy:
      check.status = Status::Critical;
      check.why = "the link trained down and stays there at work: every copy and every peer waits";
      return;
    case Load::Awake:
      check.status = Status::Warning;
      check.why = "the GPU is awake and its link is slow; it should have risen with it";
      return;
    case Load::Idle:
      check.status = Status::Info;
      check.why = "an idle GPU lowers its link to save power; it rises with load";
      return;
    case Load::Unknown:
      break;
  }
  check.status = Status::Unknown;
  check.why =
      "without its driver it is not known whether the GPU is idle: idle ones lower the speed";
}

void check_gpu_speed(const Gpu& gpu, Checks& checks) {
  Check check{.id = "gpu.link-speed",
              .subject = gpu.address,
              .why = "gradients and batches cross this link"};
  if (!gpu.current.speed_gts || !gpu.possible.speed_gts) {
    check.status = Status::Unknown;
    check.next_step = fmt::format("lspci -vv -s {} | grep LnkSta", gpu.address);
  } else {
    check.found = fmt::format("{} GT/s{}", *gpu.current.speed_gts, load_text(gpu));
    check.wanted = fmt::format("{} GT/s", *gpu.possible.speed_gts);
    if (*gpu.current.speed_gts < *gpu.possible.speed_gts) {
      judge_slow(gpu, check);
    }
  }
  checks.push_back(std::move(check));
}

void check_gpu_width(const Gpu& gpu, Checks& checks) {
  Check check{.id = "gpu.link-width",
              .subject = gpu.address,
              .why = "lanes do not drop when a GPU idles: missing ones are a bad seat or riser"};
  check.next_step =
      "reseat the card or its riser, clean its contacts, look at the slot's "
      "bifurcation in the firmware";
  if (!gpu.current.width || !gpu.possible.width) {
    check.status = Status::Unknown;
    check.next_step = fmt::format("lspci -vv -s {} | grep LnkSta", gpu.address);
  } else {
    check.found = fmt::format("x{}", *gpu.current.width);
    check.wanted = fmt::format("x{}", *gpu.possible.width);
    if (*gpu.current.width < *gpu.possible.width) {
      check.status = Status::Critical;
    }
  }
  checks.push_back(std::move(check));
}

void check_replays(const Gpu& gpu, Checks& checks) {
  if (!gpu.replays) {
    return;
  }
  const Status status = *gpu.replays >= kManyReplays ? Status::Warning
                        : *gpu.replays > 0           ? Status::Info
                                                     : Status::Pass;
  checks.push_back(
      {.id = "gpu.replays",
       .status = status,
       .subject = gpu.address,
       .found = std::to_string(*gpu.replays),
       .wanted = "0",
       .why = "packets that the link retransmitted since the driver was loaded: "
              "a few are nothing, a growing number is a bad seat or riser",
       .next_step = fmt::format("nvidia-smi -i {} -q | grep -i replay  # twice, a minute apart",
                                gpu.address)});
}

void check_driver(const Gpus& gpus, Checks& checks) {
  Check check{.id = "gpu.driver",
              .subject = "host",
              .found = gpus.driver_version.value_or(""),
              .why = "the driver reports how busy a GPU is and how its link is trained"};
  const bool foreign = std::ranges::any_of(
      gpus.gpus, [](const Gpu& gpu) { return gpu.driver && *gpu.driver != "nvidia"; });
  if (gpus.problem && !gpus.driver_version && foreign) {
    check.status = Status::Info;
    check.found = *gpus.gpus.front().driver;
    check.why = "the GPUs have another driver than NVIDIA's: CUDA jobs do not see them";
  } else if (gpus.problem) {
    check.status = gpus.problem->kind == ErrorKind::Io ? Status::Critical : Status::Unknown;
    check.why = describe(*gpus.problem);
    check.next_step = "nvidia-smi";
  }
  checks.push_back(std::move(check));
}

// The last hop is the GPU itself.
std::vector<std::string> redirecting_bridges(const Gpus& gpus) {
  std::vector<std::string> bridges;
  for (const Gpu& gpu : gpus.gpus) {
    for (std::size_t hop = 0; hop + 1 < gpu.path.size(); ++hop) {
      const host::PciHop& bridge = gpu.path[hop];
      if (bridge.redirects_peers.value_or(false) &&
          std::ranges::find(bridges, bridge.address) == bridges.end()) {
        bridges.push_back(bridge.address);
      }
    }
  }
  return bridges;
}

bool is_redirection_known(const Gpus& gpus) {
  return std::ranges::all_of(gpus.gpus, [](const Gpu& gpu) {
    return gpu.path.size() < 2 ||
           std::ranges::any_of(
               gpu.path.begin(), gpu.path.end() - 1,
               [](const host::PciHop& hop) { return hop.redirects_peers.has_value(); });
  });
}

std::string peer_path_words(bool translated, const std::vector<std::string>& bridges) {
  std::string words = translated ? "an IOMMU translates the GPUs' accesses" : "";
  if (!bridges.empty()) {
    words +=
        fmt::format("{}ACS redirects them at {}", translated ? "; " : "", fmt::join(bridges, ", "));
  }
  return words;
}

bool is_translated(const Gpu& gpu) { return gpu.iommu && gpu.iommu->starts_with("DMA"); }

// Sources disagree on IOMMUs: translation protects, and it sends what goes between devices through
// the root complex.
void check_peer_path(const Gpus& gpus, const host::Cpu& cpu, bool has_rdma, Checks& checks) {
  if ((gpus.gpus.size() < 2 && !has_rdma) || cpu.virtualised.value_or(false)) {
    return;
  }
  const bool translated = std::ranges::any_of(gpus.gpus, is_translated);
  const std::vector<std::string> bridges = redirecting_bridges(gpus);
  const bool direct = !translated && bridges.empty();
  std::string found = direct ? "direct" : peer_path_words(translated, bridges);
  if (direct && !is_redirection_known(gpus)) {
    found += ", as far as it is visible without root";
  }
  checks.push_back(
      {.id = "gpu.peer-path",
       .status = direct ? Status::Pass : Status::Warning,
       .subject = "host",
       .found = std::move(found),
       .wanted = "direct, or iommu=pt and no ACS redirection",
       .why = "with translation or ACS, copies between GPUs, and between GPU and NIC, "
              "go through the processor: 101 GB/s in both directions were seen to become 7",
       .next_step = bridges.empty()
                        ? "add iommu=pt to the kernel's command line; lspci -vvv | grep ACSCtl"
                        : fmt::format("setpci -s {} ECAP_ACS+0x6.w=0000  # the same for all "
                                      "that are named, after each boot; or ACS off in the BIOS",
                                      bridges.front())});
}

}  // namespace

void check_gpus(const Gpus& gpus, const host::Cpu& cpu, bool has_rdma, Checks& checks) {
  if (gpus.gpus.empty()) {
    const bool broken = gpus.problem && gpus.problem->kind == ErrorKind::Io;
    checks.push_back({.id = "gpu.driver",
                      .status = broken ? Status::Warning : Status::Info,
                      .subject = "host",
                      .found = "no NVIDIA GPU",
                      .why = broken ? describe(*gpus.problem)
                                    : "nothing to judge; a job here computes on its processors"});
    return;
  }
  check_driver(gpus, checks);
  for (const Gpu& gpu : gpus.gpus) {
    check_gpu_speed(gpu, checks);
    check_gpu_width(gpu, checks);
    check_replays(gpu, checks);
  }
  check_peer_path(gpus, cpu, has_rdma, checks);
}

}  // namespace chokepoint::probe
