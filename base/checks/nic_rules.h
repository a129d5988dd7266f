// What the checks of a NIC share: at which speed a rule begins to matter, and how a check begins.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/checks/check.h"
#include "base/host/network.h"

namespace chokepoint::checks {

// Below 10G a host keeps up with its defaults; from 40G on one CPU no longer does, and advice that
// was a courtesy becomes a need.
inline constexpr std::int64_t kFastMbps = 10'000;
inline constexpr std::int64_t kVeryFastMbps = 40'000;

// A port that is up: what a job may use, and all that is judged beyond nic.link.
bool is_in_use(const host::Nic& nic);
// The speed in force, of sysfs or of the driver.
std::optional<std::int64_t> line_rate_mbps(const host::Nic& nic);
// The speed in force, 0 where it is not known: rules that depend on it then do not apply.
std::int64_t speed_or_zero(const host::Nic& nic);

std::string format_mbps(double mbps);  // "57.6 Gb/s", "100 Mb/s"

Check check_of(std::string_view id, const host::Nic& nic, std::string_view why);

}  // namespace chokepoint::checks
