#include "probe/host/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/math/units.h"
#include "measure/checks/rdma_checks.h"
#include "probe/host/address_checks.h"
#include "probe/host/cpu_checks.h"
#include "probe/host/gpu_checks.h"
#include "probe/host/network_checks.h"
#include "probe/host/tcp_checks.h"

namespace chokepoint::probe {
namespace {

using host::Capability;
using host::Process;

// tcp_info has had delivery rate and the limited-by times since 4.9, dsack and reordering counts
// since 4.19.
constexpr int kOldestUseful = 4019;
constexpr double kMinFreeShare = 0.05;      // of all memory
constexpr double kMaxHugePageShare = 0.25;  // of all memory, unused
constexpr std::int64_t kManyFiles = 4096;

Check library(const char* id, const std::optional<host::FoundLibrary>& found, const char* why) {
  return {.id = id,
          .status = found ? Status::Pass : Status::Info,
          .subject = "host",
          .found = found ? fmt::format("{} ({})", found->version.value_or("?"), found->path)
                         : std::string("not found"),
          .why = why};
}

void check_build(Checks& checks) {
  std::string text;
  for (const auto& [name, value] : host::build_features()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  }
  checks.push_back({.id = "build.features",
                    .status = Status::Info,
                    .subject = "chokepoint",
                    .found = text,
                    .why = "what this program was built with"});
}

void check_peer_memory(std::optional<bool> loaded, Checks& checks) {
  Check check{.id = "lib.peer-memory",
              .subject = "host",
              .found = loaded.value_or(false) ? "loaded" : "not loaded",
              .wanted = "nvidia_peermem, or dma-buf",
              .why =
                  "without it, and without dma-buf (Linux 5.12 and NVIDIA's open modules), RDMA "
                  "copies through the host's memory"};
  if (!loaded) {
    check.status = Status::Unknown;
    check.found.clear();
  } else if (!*loaded) {
    check.status = Status::Info;
  }
  check.next_step = "modprobe nvidia_peermem";
  checks.push_back(std::move(check));
}

std::string size_text(std::int64_t bytes) { return math::format_bytes(static_cast<double>(bytes)); }

void check_free(const host::Memory& memory, Checks& checks) {
  Check check{.id = "memory.free",
              .subject = "host",
              .wanted = "5 % of the memory available",
              .why = "without it the kernel reclaims pages while packets wait for buffers"};
  if (!memory.total_bytes || !memory.available_bytes) {
    check.status = Status::Unknown;
    check.next_step = "free -m";
  } else {
    check.found =
        fmt::format("{} of {}", size_text(*memory.available_bytes), size_text(*memory.total_bytes));
    if (static_cast<double>(*memory.available_bytes) <
        kMinFreeShare * static_cast<double>(*memory.total_bytes)) {
      check.status = Status::Warning;
      check.next_step = "ps axo pid,rss,comm --sort -rss | head";
    }
  }
  checks.push_back(std::move(check));
}

void check_huge_pages(const host::Memory& memory, Checks& checks) {
  const double unused = static_cast<double>(memory.free_huge_pages.value_or(0)) *
                        static_cast<double>(memory.huge_page_bytes.value_or(0));
  if (!memory.total_bytes ||
      unused < kMaxHugePageShare * static_cast<double>(*memory.total_bytes)) {
    return;
  }
  checks.push_back({.id = "memory.huge-pages",
                    .status = Status::Warning,
                    .subject = "host",
                    .found = math::format_bytes(unused) + " set aside and not used",
                    .wanted = "less than a quarter of the memory",
                    .why = "pages set aside serve only programs that ask for them; all others, "
                           "and the page cache, go without",
                    .next_step = "sysctl -w vm.nr_hugepages=0"});
}

// What NVIDIA asks of containers (--shm-size=1g), and what one connection of NCCL took of it in
// reports of its failing (9.6 MB), with room for some.
constexpr std::int64_t kMinSharedBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMinSharedFreeBytes = std::int64_t{64} << 20;

std::string shared_words(const host::Mount& mount) {
  std::string words = mount.size_bytes ? size_text(*mount.size_bytes) : "half of the memory";
  if (mount.free_bytes) {
    words += fmt::format(", {} free", size_text(*mount.free_bytes));
  }
  return words;
}

bool may(const Process& process, Capability capability) {
  return has(process, capability).value_or(false);
}

Check privilege(const char* id, bool granted, const char* wanted, const char* why,
                std::string next_step) {
  return {.id = id,
          .status = granted ? Status::Pass : Status::Info,
          .subject = "chokepoint",
          .found = granted ? "yes" : "no",
          .wanted = wanted,
          .why = why,
          .next_step = std::move(next_step)};
}

void check_open_files(const Process& process, Checks& checks) {
  if (!process.open_files) {
    return;
  }
  const bool few = process.open_files->soft < kManyFiles;
  checks.push_back({.id = "limit.open-files",
                    .status = few ? Status::Info : Status::Pass,
                    .subject = "host",
                    .found = process.open_files->soft == host::kUnlimited
                                 ? "unlimited"
                                 : std::to_string(process.open_files->soft),
                    .wanted = fmt::format("{} or more", kManyFiles),
                    .why = "every peer and every channel takes sockets: a job of many ranks runs "
                           "out at 1024",
                    .next_step = "ulimit -n 65536"});
}

std::string found_text(const host::Timekeeping& time) {
  std::string text = *time.synchronised ? "synchronised" : "not synchronised";
  if (*time.synchronised && time.largest_error_us) {
    text += " within " + math::format_ms(static_cast<double>(*time.largest_error_us) / 1e3);
  }
  if (!time.services.empty()) {
    text += fmt::format(" by {}", fmt::join(time.services, ", "));
  }
  return text;
}

void check_synchronised(const host::Timekeeping& time, Checks& checks) {
  Check check{.id = "time.sync",
              .subject = "host",
              .wanted = "synchronised",
              .why =
                  "the nodes' records are laid side by side: the nearer their clocks, the surer "
                  "who waited for whom"};
  if (time.synchronised) {
    check.found = found_text(time);
    check.status = *time.synchronised ? Status::Pass : Status::Warning;
    check.next_step = time.services.empty() ? "apt-get install chrony || dnf install chrony"
                                            : "chronyc tracking || timedatectl timesync-status";
  } else if (!time.services.empty()) {
    check.status = Status::Info;
    check.found = fmt::format("{} runs; whether it is in step was not recorded",
                              fmt::join(time.services, ", "));
  } else {
    check.status = Status::Unknown;
    check.next_step = "timedatectl";
  }
  checks.push_back(std::move(check));
}

// An oscillator within its specification is off by less than 100 ppm; the kernel's own correction
// ends at 500 (adjtimex(2)), and beyond that a clock runs away between two looks at its source.
constexpr double kUsualPpm = 100;
constexpr double kMaxPpm = 500;

void check_drift(const host::Timekeeping& time, Checks& checks) {
  if (!time.correction_ppm) {
    return;
  }
  constexpr double kMsAMinute = 60e3 / 1e6;
  const double ppm = std::abs(*time.correction_ppm);
  Check check{
      .id = "time.drift",
      .subject = "host",
      .found = fmt::format("{:.1f} ppm by {}", *time.correction_ppm, time.correction_source),
      .wanted = fmt::format("within {} ppm", kUsualPpm),
      .why = "how wrong this host's oscillator is, which its clock is corrected for"};
  if (ppm > kUsualPpm) {
    check.status = ppm >= kMaxPpm ? Status::Warning : Status::Info;
    check.why = fmt::format(
        "uncorrected the clock drifts by {} a minute, and records of other hosts drift apart from "
        "this one's: a bad oscillator, or a tsc that was calibrated wrongly",
        math::format_ms(ppm * kMsAMinute));
    check.next_step = "chronyc tracking; dmesg | grep -i -e tsc -e clocksource";
  }
  checks.push_back(std::move(check));
}

bool is_slow(std::string_view source) {
  constexpr std::array<std::string_view, 5> kSlow = {"hpet", "acpi_pm", "jiffies",
                                                     "refined-jiffies", "pit"};
  return std::ranges::find(kSlow, source) != kSlow.end();
}

void check_source(const host::Timekeeping& time, Checks& checks) {
  Check check{.id = "time.source",
              .subject = "host",
              .found = time.source.value_or(""),
              .wanted = "the processor's own (tsc, arch_sys_counter), or the hypervisor's",
              .why = "every packet and every pacing decision reads the clock"};
  if (!time.source) {
    check.status = Status::Unknown;
    check.next_step = "cat /sys/devices/system/clocksource/clocksource0/current_clocksource";
  } else if (is_slow(*time.source)) {
    check.status = Status::Warning;
    check.why =
        "reading this clock takes a system call and about a microsecond; the kernel gave "
        "up the tsc, dmesg says why";
    check.next_step = "dmesg | grep -i -e clocksource -e tsc";
  }
  checks.push_back(std::move(check));
}

}  // namespace

void check_kernel(const host::Kernel& kernel, Checks& checks) {
  Check check{.id = "kernel.release",
              .subject = "host",
              .found = kernel.release.value_or(""),
              .wanted = "4.19 or newer",
              .why = "the kernel's TCP counters show what limited a flow; older kernels lack some"};
  const std::optional<int> number = release_number(kernel);
  if (!number) {
    check.status = Status::Unknown;
    check.next_step = "uname -r";
  } else if (*number < kOldestUseful) {
    check.status = Status::Warning;
    check.next_step = "boot a newer kernel of your distribution";
  }
  checks.push_back(std::move(check));
}

void check_libraries(const host::Libraries& libraries, std::optional<bool> peer_memory,
                     DevicesPresent present, Checks& checks) {
  checks.push_back(library("lib.nccl", libraries.nccl,
                           "the collectives between GPUs; PyTorch's wheels bring their own, found "
                           "where VIRTUAL_ENV or CONDA_PREFIX is set"));
  checks.push_back(library("lib.cuda", libraries.cuda, "the newest CUDA that the driver serves"));
  checks.push_back(library("lib.verbs", libraries.verbs, "RDMA is used through it"));
  if (present.gpus && present.rdma) {
    check_peer_memory(peer_memory, checks);
  }
  check_build(checks);
}

void check_memory(const host::Memory& memory, Checks& checks) {
  check_free(memory, checks);
  check_huge_pages(memory, checks);
}

void check_shared_memory(const std::vector<host::Mount>& mounts, Checks& checks) {
  if (mounts.empty()) {
    return;
  }
  Check check{.id = "memory.shared",
              .subject = "host",
              .wanted = "1 GiB or more, 64 MiB of it free",
              .why =
                  "NCCL between GPUs of a host, and loaders of data, share memory through "
                  "/dev/shm: without room for it they fail as the job starts"};
  const host::Mount* shared = mount_of(mounts, host::kSharedMemory);
  if (shared == nullptr || shared->point != host::kSharedMemory) {
    check.status = Status::Warning;
    check.found = "nothing is mounted at /dev/shm";
  } else {
    check.found = shared_words(*shared);
    if (shared->size_bytes.value_or(kMinSharedBytes) < kMinSharedBytes ||
        shared->free_bytes.value_or(kMinSharedFreeBytes) < kMinSharedFreeBytes) {
      check.status = Status::Warning;
    }
  }
  if (check.status != Status::Pass) {
    check.next_step =
        "ls -lh /dev/shm; mount -o remount,size=8G /dev/shm  # of a container: docker run "
        "--shm-size=8g, or --ipc=host; in Kubernetes an emptyDir with medium: Memory at /dev/shm";
  }
  checks.push_back(std::move(check));
}

void check_privileges(const Process& process, Checks& checks) {
  if (!process.capabilities) {
    checks.push_back({.id = "privilege.capture",
                      .status = Status::Unknown,
                      .subject = "chokepoint",
                      .why = "this process's capabilities could not be read",
                      .next_step = "grep Cap /proc/self/status"});
    return;
  }
  checks.push_back(
      privilege("privilege.capture", may(process, Capability::NetRaw) || process.is_capture_allowed,
                "cap_net_raw", "without it 'capture' and 'run' see no packets, only sockets",
                process.allow_capture));
  checks.push_back(privilege(
      "privilege.sockets",
      may(process, Capability::NetAdmin) && may(process, Capability::SysPtrace),
      "cap_net_admin, cap_sys_ptrace",
      "without them sockets of processes of another user, with more capabilities, or that "
      "may not be dumped are not matched",
      "run it as the job's own user and with its capabilities, or as root"));
  check_open_files(process, checks);
}

void check_time(const host::Timekeeping& time, Checks& checks) {
  check_synchronised(time, checks);
  check_source(time, checks);
  check_drift(time, checks);
}

Checks examine(const host::Inventory& inventory) {
  const bool has_rdma = !inventory.rdma.empty();
  Checks checks;
  check_kernel(inventory.kernel, checks);
  check_network(
      inventory.network,
      {.named_interface = variable(inventory.process, "GLOO_SOCKET_IFNAME"),
       .own_addresses = inventory.own_name.addresses.value_or(std::vector<net::Address>()),
       .named_devices = variable(inventory.process, "NCCL_IB_HCA")},
      checks);
  check_cpu(inventory.cpu, checks);
  check_numa(inventory.memory, inventory.sysctls, checks);
  check_memory(inventory.memory, checks);
  check_shared_memory(inventory.mounts, checks);
  check_locked_memory(inventory.process, has_rdma, checks);
  const host::Links links = host::links_of(inventory.network);
  check_tcp_buffers(inventory.kernel, inventory.sysctls, links.fastest_mbps, checks);
  check_tcp(inventory.sysctls, links, checks);
  check_names(inventory.own_name, inventory.addresses, inventory.process, checks);
  check_interface_choice(inventory.addresses, inventory.network, inventory.process, checks);
  check_ip(inventory.addresses, inventory.sysctls, checks);
  check_time(inventory.time, checks);
  check_rdma(inventory.rdma, inventory.network, inventory.process, checks);
  for (const host::RdmaDevice& device : inventory.rdma) {
    if (!checks::is_judged_as_nic(device, inventory.network)) {
      checks::check_rdma_pci(device, checks);
    }
  }
  check_gpus(inventory.gpus, inventory.cpu, has_rdma, checks);
  check_privileges(inventory.process, checks);
  if (inventory.libraries) {
    const DevicesPresent present{.gpus = !inventory.gpus.gpus.empty(), .rdma = has_rdma};
    check_libraries(*inventory.libraries, inventory.peer_memory, present, checks);
  }
  return checks;
}

}  // namespace chokepoint::probe
