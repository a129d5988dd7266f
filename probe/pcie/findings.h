// Judges this host's slots: GPUs by their copies (gpu_findings.cc) or, without any, by their idle
// links; the path between GPUs; and every NIC's slot against its line rate, by the same checks as
// doctor's. And what a slot carries, from the narrowest link of its path under load. Pure.
#pragma once

#include <optional>
#include <vector>

#include "base/checks/check.h"
#include "base/host/cpu.h"
#include "probe/pcie/outcome.h"
#include "probe/pcie/slots.h"
#include "probe/pcie/survey.h"

namespace chokepoint::probe::pcie {

struct Thresholds {
  std::optional<double> min_percent = {};  // of the ceiling; nullopt: the default
};

// The rate of both directions at once over that of the faster one: nearly 2 if nothing slows them
// down. Below the first it is a warning, below the second critical.
inline constexpr double kMinDuplexGain = 1.3;
inline constexpr double kCriticalDuplexGain = 0.6;

// pcie.link-under-load, pcie.link-steady, pcie.path, pcie.copies, pcie.both-ways, pcie.pageable,
// pcie.numa, pcie.replays, pcie.errors-under-load, pcie.data, pcie.measured. `cpus`: that this
// process may use.
void judge_gpu(const Device& device, const GpuOutcome& outcome, const std::vector<int>& cpus,
               const Thresholds& thresholds, checks::Checks& checks);

// True, and the check becomes Unknown, if copies of so few bytes are dominated by their start-up. 0
// bytes: not known.
bool is_too_small_to_judge(std::uint64_t bytes, checks::Check& check);

std::string format_gigabytes(double mbps);  // "55.3 GB/s"

// `measured` is null if no copies were made: by request, or for a copy of another host.
checks::Checks judge(const Slots& slots, const host::Cpu& cpu, const Measured* measured,
                     const Thresholds& thresholds);

void judge_peers(const PeerOutcome& outcome, std::optional<double> ceiling_mbps,
                 checks::Checks& checks);

struct Ceiling {
  double mbps = 0;  // data in one direction
  host::PciHop hop = {};
  int payload_bytes = host::kUsualPayloadBytes;
  bool payload_is_known = false;
};

// The device with its links as they were under load. If nothing was seen of a GPU under load, with
// the links that it could have, because an idle GPU lowers its own.
host::PciDevice under_load(const Device& device, const GpuOutcome* outcome);

std::optional<Ceiling> ceiling_of(const Device& device, const GpuOutcome* outcome);

// nullptr if the device was not measured.
const GpuOutcome* outcome_of(const Device& device, const std::vector<GpuOutcome>& outcomes);

}  // namespace chokepoint::probe::pcie
