// The names of base/checks that all of doctor's checks use, and what several of them share.
#pragma once

#include <cstdint>

#include "base/checks/check.h"
#include "measure/checks/pci_checks.h"

namespace chokepoint::probe {

using checks::Check;
using checks::check_of;
using checks::Checks;
using checks::format_mbps;
using checks::is_in_use;
using checks::kFastMbps;
using checks::kVeryFastMbps;
using checks::line_rate_mbps;
using checks::name_of;
using checks::speed_or_zero;
using checks::Status;
using checks::worst;

// From this MTU on, frames count as jumbo: 9000 less what tunnels and clouds take of it.
inline constexpr std::int64_t kJumboMtu = 8000;

}  // namespace chokepoint::probe
