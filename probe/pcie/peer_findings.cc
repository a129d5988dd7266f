#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "probe/pcie/findings.h"

namespace chokepoint::probe::pcie {
namespace {

using checks::Check;
using checks::Status;

constexpr std::string_view kLook =
    "nvidia-smi topo -p2p r; lspci -vvv | grep ACSCtl; cat /proc/cmdline";
// Of what the slower of both slots carries.
constexpr double kLeastShare = 0.6;

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
  check.next_step = kLook;
  return check;
}

Check of_direct(const PeerOutcome& outcome, std::optional<double> ceiling_mbps) {
  Check check = begin(outcome);
  const double there = *outcome.direct.there_mbps;
  const double back = outcome.direct.back_mbps.value_or(there);
  const double both = outcome.direct.both_mbps.value_or(there + back);
  check.found = fmt::format("{} there, {} back, {} both ways", format_gigabytes(there),
                            format_gigabytes(back), format_gigabytes(both));
  const double slower = std::min(there, back);
  const bool is_slow = both < std::max(there, back) * kUsualGain ||
                       (ceiling_mbps && slower < *ceiling_mbps * kLeastShare);
  if (is_slow && spends_its_time_on_beginning(outcome.bytes, check)) {
    return check;
  }
  if (both < std::max(there, back) * kUsualGain) {
    check.status =
        both < std::max(there, back) * kCriticalGain ? Status::Critical : Status::Warning;
    check.wanted =
        fmt::format("{} or more both ways", format_gigabytes(std::max(there, back) * kUsualGain));
    check.why =
        "traffic between GPUs goes up to the processor and down again (ACS, an IOMMU): 101 "
        "GB/s both ways were seen to become 7";
  } else if (ceiling_mbps && slower < *ceiling_mbps * kLeastShare) {
    check.status = Status::Warning;
    check.wanted = fmt::format("{} or more", format_gigabytes(*ceiling_mbps * kLeastShare));
    check.why = "between these GPUs much less arrives than their slots carry";
  } else if (ceiling_mbps && slower > *ceiling_mbps) {
    check.found += "; more than PCIe carries: over NVLink";
  }
  check.next_step = check.status == Status::Pass ? "" : std::string(kLook);
  return check;
}

}  // namespace

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
    check.next_step = kLook;
    checks.push_back(std::move(check));
  }
}

}  // namespace chokepoint::probe::pcie
