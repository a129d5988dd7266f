#include "base/checks/nic_rules.h"

#include <fmt/format.h>

#include <cmath>

namespace chokepoint::checks {

bool is_in_use(const host::Nic& nic) { return is_port(nic) && is_up(nic); }

std::optional<std::int64_t> line_rate_mbps(const host::Nic& nic) {
  if (nic.speed_mbps) {
    return nic.speed_mbps;
  }
  return nic.settings.modes ? nic.settings.modes->speed_mbps : std::nullopt;
}

std::int64_t speed_or_zero(const host::Nic& nic) { return line_rate_mbps(nic).value_or(0); }

std::string format_mbps(double mbps) {
  const double shown = mbps < 1000 ? mbps : mbps / 1000;
  return fmt::format("{} {}", std::round(shown * 10) / 10, mbps < 1000 ? "Mb/s" : "Gb/s");
}

Check check_of(std::string_view id, const host::Nic& nic, std::string_view why) {
  return {.id = std::string(id), .subject = nic.name, .why = std::string(why)};
}

}  // namespace chokepoint::checks
