// The requirements of a preflight, from a TOML file if there is one. All figures that a user may
// set are here with their reasons; constants of a check are beside the check. Values and pure
// functions, but for read_limits, which reads the one file it is given.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/checks/check.h"
#include "base/sys/error.h"

namespace chokepoint::preflight {

// What the links of the hosts whose name matches a shell's pattern carry.
struct HostRate {
  std::string pattern = {};
  double mbps = 0;

  bool operator==(const HostRate&) const = default;
};

// From which of doctor's statuses on a check is a finding of the preflight, too.
enum class DoctorTaken : std::uint8_t { Nothing, Critical, Warning };

// Of the rate that a path should reach: below the first it is slow, below the second very slow.
// Pages colour by these, findings by the user's limits.
inline constexpr double kDefaultLinkShare = 0.8;
inline constexpr double kDefaultLinkCriticalShare = 0.5;

// Shares are of 1, percents of 100. limits_text() describes each.
struct Limits {
  std::optional<double> link_rate_mbps = {};
  std::vector<HostRate> host_rates = {};  // the first that matches counts
  double link_share = kDefaultLinkShare;
  double link_critical_share = kDefaultLinkCriticalShare;
  double link_peer_share = 0.5;
  double link_steady_share = 0.7;
  double link_few_share = 0.2;

  double wan_rtt_ms = 2;
  std::optional<double> wan_rate_mbps = {};

  double loss_percent = 0.01;
  double loss_critical_percent = 0.1;
  double loss_false_alarm = 0.001;

  double latency_lan_ms = 1;
  std::optional<double> latency_p99_ms = {};

  std::optional<double> mtu_bytes = {};

  double clock_offset_ms = 50;
  double clock_critical_ms = 60'000;

  double window_share = 0.4;
  double cpu_percent = 90;
  double slot_share = 0.75;
  double uplink_share = 0.8;
  double rdma_share = 0.8;
  std::optional<double> collective_mbps = {};

  double baseline_worse_percent = 15;
  double baseline_latency_ms = 0.1;

  DoctorTaken doctor_taken = DoctorTaken::Warning;

  bool operator==(const Limits&) const = default;
};

// Of a rate that is too low: CRITICAL below link_critical_share of what is wanted, else WARNING.
inline checks::Status grade_of(const Limits& limits, double rate, double wanted) {
  return rate < limits.link_critical_share * wanted ? checks::Status::Critical
                                                    : checks::Status::Warning;
}

// The rate that the limits give for this host's link; nullopt where they give none.
std::optional<double> link_rate_of(const Limits& limits, const std::string& host);

Result<Limits> read_limits(const std::filesystem::path& file);
// Usage errors name the line; `file` is what they call the text.
Result<Limits> limits_in(std::string_view toml, const std::string& file);

// The limits as a commented TOML file that reads back to the same.
std::string limits_text(const Limits& limits);

}  // namespace chokepoint::preflight
