// Everything that is judged of this host's slots: GPUs by their copies or, without any, by what
// idles; what lies between them; and every NIC's slot against its line rate, by the same checks as
// doctor's. Pure.
#pragma once

#include "base/checks/check.h"
#include "base/host/cpu.h"
#include "probe/pcie/device.h"
#include "probe/pcie/gpu_findings.h"
#include "probe/pcie/survey.h"

namespace chokepoint::probe::pcie {

// `measured` may be null: a copy of a host, or nobody asked for it.
checks::Checks judge(const Slots& slots, const host::Cpu& cpu, const Measured* measured,
                     const Thresholds& thresholds);

void judge_peers(const PeerOutcome& outcome, std::optional<double> ceiling_mbps,
                 checks::Checks& checks);

}  // namespace chokepoint::probe::pcie
