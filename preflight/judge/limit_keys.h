// Which keys a file of limits has, with what may stand there and the comment that explains it: the
// reader and the writer of the file share it, so that neither knows a key the other does not.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "preflight/judge/limits.h"

namespace chokepoint::preflight {

struct LimitKey {
  std::string_view section = {};
  std::string_view name = {};
  std::variant<double Limits::*, std::optional<double> Limits::*> member = {};
  double least = 0;
  double most = 0;
  double example = 0;  // for what is unset
  std::string_view comment = {};
};

struct LimitSection {
  std::string_view name = {};
  std::string_view comment = {};
};

std::span<const LimitSection> limit_sections();
std::span<const LimitKey> limit_keys();

inline constexpr std::string_view kHostsKey = "hosts";  // [[hosts]] name, rate_mbps
inline constexpr std::string_view kHostName = "name";
inline constexpr std::string_view kHostRate = "rate_mbps";
inline constexpr std::string_view kDoctorSection = "doctor";
inline constexpr std::string_view kDoctorKey = "take";

std::string_view name_of(DoctorTaken taken);  // "critical"
std::optional<DoctorTaken> doctor_taken_named(std::string_view name);

}  // namespace chokepoint::preflight
