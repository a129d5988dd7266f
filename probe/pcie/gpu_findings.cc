#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/host/kernel_text.h"
#include "base/math/units.h"
#include "base/sys/pages.h"
#include "probe/pcie/findings.h"

namespace chokepoint::probe::pcie {
namespace {

using checks::Check;
using checks::Checks;
using checks::Status;

// Of the link's ceiling. Gen3 at its best reaches 83 % of what this payload leaves, Gen4 90, Gen5
// 95.
constexpr double kMinCopyPercent = 75;
constexpr double kCriticalCopyPercent = 50;
// Of the rate of copies from pinned memory of the near NUMA node: from another node, and from
// pageable memory. Chosen.
constexpr double kMinFarShare = 0.9;
constexpr double kMinPageableShare = 0.7;

class Judge {
 public:
  Judge(const Device& device, const GpuOutcome& outcome, Checks& checks)
      : device_(device), outcome_(outcome), checks_(checks) {}

  void link() {
    const host::PciDevice pci = under_load(device_, &outcome_);
    const host::PciHop& own = pci.path.back();
    Check check = begin("pcie.link-under-load", "every batch and every gradient crosses this link");
    check.next_step = fmt::format(
        "nvidia-smi -q -i {0} | grep -A 12 'GPU Link Info'; lspci -vv -s {0} | grep -E "
        "'LnkCap:|LnkSta:'; reseat the card or its riser",
        device_.address);
    if (outcome_.link.looks == 0 || !own.current.is_known()) {
      check.status = Status::Unknown;
      check.why = "neither NVML nor sysfs reported how the link was trained while copies ran";
    } else {
      check.found = describe(own.current);
      check.wanted = own.possible.is_known() ? describe(own.possible) : "";
      if (is_below(own.current, own.possible)) {
        check.status = Status::Critical;
        check.why = "the link stays below what both its ends can do, also under load: " + check.why;
      } else {
        check.next_step.clear();
      }
    }
    checks_.push_back(std::move(check));
    above(pci);
    steady();
  }

  void rates(const Thresholds& thresholds) {
    const auto ceiling = ceiling_of(device_, &outcome_);
    const auto slower = slower_direction();
    if (!slower) {
      return;
    }
    Check check = begin("pcie.copies", "what copies reach of what the slot carries");
    check.found = fmt::format("{} {}", format_gigabytes(slower->second), slower->first);
    if (!ceiling) {
      check.status = Status::Unknown;
      check.why = "the slot's capacity is not known: no hop reported its speed and width";
      check.next_step = fmt::format("lspci -vv -s {} | grep LnkSta", device_.address);
      checks_.push_back(std::move(check));
      return;
    }
    const double share = slower->second * math::kPercent / ceiling->mbps;
    const double least = thresholds.min_percent.value_or(kMinCopyPercent);
    check.found += fmt::format(", {:.0f} %", share);
    check.wanted = fmt::format("{:.0f} % of {}: {} at {}, payload {} bytes{}", least,
                               format_gigabytes(ceiling->mbps), describe(ceiling->hop.current),
                               ceiling->hop.address, ceiling->payload_bytes,
                               ceiling->payload_is_known ? "" : " assumed");
    if (share < least && !is_too_small_to_judge(outcome_.bytes, check)) {
      const bool grave = thresholds.min_percent || share < kCriticalCopyPercent;
      check.status = grave ? Status::Critical : Status::Warning;
      check.why =
          "copies stay far below the link: an IOMMU that translates, memory of another "
          "node, or a processor that sleeps too deeply";
      check.next_step = "cat /proc/cmdline; numactl -H; cpupower idle-info; add iommu=pt";
    }
    checks_.push_back(std::move(check));
  }

  void both_ways() {
    const HostCopies& pinned = outcome_.pinned;
    if (!pinned.both_mbps || !pinned.to_gpu_mbps || !pinned.from_gpu_mbps) {
      return;
    }
    const double one_way = std::max(*pinned.to_gpu_mbps, *pinned.from_gpu_mbps);
    const double gain = *pinned.both_mbps / one_way;
    Check check = begin("pcie.both-ways", "a link carries as much back as there, at the same time");
    check.found = fmt::format("{} in both directions, {} in one direction",
                              format_gigabytes(*pinned.both_mbps), format_gigabytes(one_way));
    check.wanted = fmt::format("{} or more", format_gigabytes(one_way * kMinDuplexGain));
    if (gain < kMinDuplexGain && !is_too_small_to_judge(outcome_.bytes, check)) {
      const bool single = outcome_.engines == 1;
      check.status = gain < kCriticalDuplexGain ? Status::Critical
                     : single                   ? Status::Info
                                                : Status::Warning;
      check.why = single ? "this GPU has one copy engine: one direction waits for the other"
                         : "copies in one direction delay those in the other: an IOMMU, ACS, or "
                           "memory that is too slow for both";
      check.next_step = single ? "" : "cat /proc/cmdline; lspci -vvv | grep ACSCtl; add iommu=pt";
    }
    checks_.push_back(std::move(check));
  }

  void pageable() {
    const auto pinned = outcome_.pinned.to_gpu_mbps;
    const auto pageable = outcome_.pageable.to_gpu_mbps;
    if (!pinned || !pageable || *pageable >= *pinned * kMinPageableShare) {
      return;
    }
    Check check = begin("pcie.pageable",
                        "memory that is not pinned is copied twice, and its copies wait for the "
                        "processor");
    check.status = Status::Info;
    check.found = fmt::format("{} from pageable memory, {} from pinned",
                              format_gigabytes(*pageable), format_gigabytes(*pinned));
    check.next_step = "DataLoader(pin_memory=True) and .to(device, non_blocking=True)";
    checks_.push_back(std::move(check));
  }

  void numa(const std::vector<int>& cpus) {
    const std::vector<int> near = host::cpus_of(device_.pci.local_cpus.value_or(""));
    const auto is_near = [&](int cpu) { return std::ranges::count(near, cpu) > 0; };
    if (!outcome_.near_node || near.empty() || cpus.empty()) {
      return;
    }
    const auto beside = std::ranges::count_if(cpus, is_near);
    const auto near_mbps = outcome_.anywhere ? std::nullopt : outcome_.pinned.to_gpu_mbps;
    const auto far_mbps = outcome_.far.to_gpu_mbps;
    const bool costs = !near_mbps || !far_mbps || *far_mbps < *near_mbps * kMinFarShare;
    Check check = begin("pcie.numa", "memory of the GPU's own NUMA node is nearer to it");
    check.found = fmt::format("{} of {} usable CPUs are on its node {}", beside, cpus.size(),
                              *outcome_.near_node);
    if (near_mbps && far_mbps) {
      check.found += fmt::format("; {} from it, {} from node {}", format_gigabytes(*near_mbps),
                                 format_gigabytes(*far_mbps), outcome_.far_node.value_or(-1));
    }
    if (beside < static_cast<std::ptrdiff_t>(cpus.size()) && costs) {
      check.status = beside == 0 ? Status::Warning : Status::Info;
      check.wanted = "the rank of this GPU on CPUs " + host::list_of_cpus(near);
      check.next_step =
          fmt::format("numactl --cpunodebind={0} --membind={0} COMMAND", *outcome_.near_node);
    }
    checks_.push_back(std::move(check));
  }

  void counters() {
    risen("pcie.replays", "packets that the link retransmitted while copies ran",
          outcome_.link.replays_before, outcome_.link.replays_after);
    risen("pcie.errors-under-load", "PCIe errors on the path to the GPU while copies ran",
          outcome_.link.errors_before, outcome_.link.errors_after);
  }

  void data() {
    for (const std::string& problem : outcome_.problems) {
      Check check = begin("pcie.measured", problem);
      check.status = Status::Warning;
      check.next_step = "nvidia-smi; dmesg | grep -i -e nvrm -e xid";
      checks_.push_back(std::move(check));
    }
    if (outcome_.verified_bytes == 0) {
      return;
    }
    Check check = begin("pcie.data", "what was copied arrived as it was sent");
    check.found = fmt::format("{} held against what was sent", bytes_words());
    if (!outcome_.wrong.empty()) {
      check.status = Status::Critical;
      check.found = fmt::format("{}", fmt::join(outcome_.wrong, "; "));
      check.wanted = "all as it was sent";
      check.why = "data changed in transit: memory, link or driver is broken";
      check.next_step =
          "take the host out of service; nvidia-smi -q | grep -i ecc; dmesg | grep "
          "-i -e xid -e mce -e aer";
    }
    checks_.push_back(std::move(check));
  }

 private:
  Check begin(std::string_view id, std::string why) const {
    return {.id = std::string(id), .subject = device_.address, .why = std::move(why)};
  }

  std::string bytes_words() const {
    return fmt::format("{:.2f} GB", static_cast<double>(outcome_.verified_bytes) / 1e9);
  }

  // The ports of switches and of the processor above the GPU: their links do not idle.
  void above(const host::PciDevice& pci) {
    for (std::size_t i = 0; i + 2 < pci.path.size(); ++i) {
      const host::PciHop& hop = pci.path[i];
      if (!is_below(hop.current, hop.possible)) {
        continue;
      }
      Check check = begin("pcie.path", "a link above the GPU is below what both its ends can do");
      check.status = Status::Warning;
      check.found = fmt::format("{} at {}", describe(hop.current), hop.address);
      check.wanted = describe(hop.possible);
      check.next_step = fmt::format("lspci -vv -s {} | grep -E 'LnkCap:|LnkSta:'", hop.address);
      checks_.push_back(std::move(check));
    }
  }

  void steady() {
    const LinkSeen& link = outcome_.link;
    if (link.looks == 0 || !is_below(link.last, link.best)) {
      return;
    }
    Check check = begin("pcie.link-steady",
                        "the link came down while copies ran: it retrains, and may stay there");
    check.status = Status::Critical;
    check.found = describe(link.last);
    check.wanted = describe(link.best);
    check.next_step = "dmesg | grep -i -e aer -e nvrm -e pcieport; reseat the card or its riser";
    checks_.push_back(std::move(check));
  }

  void risen(std::string_view id, std::string why, std::optional<std::int64_t> before,
             std::optional<std::int64_t> after) {
    if (!before || !after) {
      return;
    }
    Check check = begin(id, std::move(why));
    check.found = fmt::format("{} more", *after - *before);
    check.wanted = "0";
    if (*after > *before) {
      check.status = Status::Warning;
      check.next_step = "dmesg | grep -iE 'aer|pcieport'; reseat the card or its riser";
    }
    checks_.push_back(std::move(check));
  }

  std::optional<std::pair<std::string_view, double>> slower_direction() const {
    const auto to = outcome_.pinned.to_gpu_mbps;
    const auto from = outcome_.pinned.from_gpu_mbps;
    if (to && (!from || *to <= *from)) {
      return std::pair<std::string_view, double>("to the GPU", *to);
    }
    return from ? std::optional(std::pair<std::string_view, double>("from the GPU", *from))
                : std::nullopt;
  }

  const Device& device_;
  const GpuOutcome& outcome_;
  Checks& checks_;
};

}  // namespace

bool is_too_small_to_judge(std::uint64_t bytes, Check& check) {
  constexpr std::uint64_t kMinMeaningfulBytes = std::uint64_t{16} << 20;
  if (bytes == 0 || bytes >= kMinMeaningfulBytes) {
    return false;
  }
  check.status = Status::Unknown;
  check.why =
      fmt::format("copies of {} spend too much of their time on starting: their rate shows nothing",
                  sys::size_words(bytes));
  check.next_step =
      "larger --bytes; where those were asked for, memory that is free on GPU and host";
  return true;
}

std::string format_gigabytes(double mbps) { return fmt::format("{:.1f} GB/s", mbps / 8000); }

void judge_gpu(const Device& device, const GpuOutcome& outcome, const std::vector<int>& cpus,
               const Thresholds& thresholds, Checks& checks) {
  Judge judge(device, outcome, checks);
  judge.data();
  judge.link();
  judge.rates(thresholds);
  judge.both_ways();
  judge.numa(cpus);
  judge.counters();
  judge.pageable();
}

}  // namespace chokepoint::probe::pcie
