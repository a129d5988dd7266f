// What a GPU's copies say of its slot: pcie.link-under-load, pcie.link-steady, pcie.path,
// pcie.copies, pcie.both-ways, pcie.pageable, pcie.numa, pcie.replays, pcie.errors-under-load,
// pcie.data, pcie.measured. Pure.
#pragma once

#include <vector>

#include "base/checks/check.h"
#include "probe/pcie/device.h"
#include "probe/pcie/outcome.h"

namespace chokepoint::probe::pcie {

struct Thresholds {
  std::optional<double> least_percent = {};  // of the ceiling, as somebody asked for it
};

// What copies gain that go both ways at once, where nothing is in their way: nearly all.
inline constexpr double kUsualGain = 1.3;
inline constexpr double kCriticalGain = 0.6;

// `cpus`: that this process may use.
void judge_gpu(const Device& device, const GpuOutcome& outcome, const std::vector<int>& cpus,
               const Thresholds& thresholds, checks::Checks& checks);

// Are copies of so few bytes no measure of a link? Says so in the check. 0 is not known.
bool spends_its_time_on_beginning(std::uint64_t bytes, checks::Check& check);

std::string format_gigabytes(double mbps);  // "55.3 GB/s"

}  // namespace chokepoint::probe::pcie
