// What the checks of a NIC share stands in base: PCIe is judged by it there.
#pragma once

#include "base/checks/pci_checks.h"

namespace chokepoint::probe {

using checks::check_of;
using checks::format_mbps;
using checks::is_in_use;
using checks::kFastMbps;
using checks::kVeryFastMbps;
using checks::line_rate_mbps;
using checks::speed_or_zero;

}  // namespace chokepoint::probe
