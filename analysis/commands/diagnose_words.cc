#include "analysis/commands/diagnose_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/cli/text.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

constexpr double kInMs = 1e4;  // longer times are told in seconds
constexpr double kMsPerSecond = 1e3;
constexpr double kBitsPerMegabit = 1e6;

struct UnitSign {
  std::string_view unit;
  std::string_view sign;
};

constexpr std::array kSigns{UnitSign{"percent", " %"}, UnitSign{"us", " µs"}};

}  // namespace

std::string number_text(double value) {
  constexpr double kWhole = 100;
  constexpr double kTenths = 10;
  constexpr double kHundredths = 0.1;
  const double size = std::abs(value);
  if (size >= kWhole || value == std::round(value)) {
    return fmt::format("{:.0f}", value);
  }
  return size >= kTenths       ? fmt::format("{:.1f}", value)
         : size >= kHundredths ? fmt::format("{:.2f}", value)
                               : fmt::format("{:.2g}", value);
}

std::string part_text(double ms, double whole_ms) {
  constexpr double kTenthsFrom = 10;
  const bool is_long = whole_ms >= kInMs;
  return fmt::format("{:.{}f}", is_long ? ms / kMsPerSecond : ms,
                     is_long || whole_ms < kTenthsFrom ? 2 : 1);
}

std::string whole_text(double whole_ms) {
  return part_text(whole_ms, whole_ms) + (whole_ms >= kInMs ? " s" : " ms");
}

std::string time_text(double ms) {
  return std::abs(ms) < kInMs ? number_text(ms) + " ms" : number_text(ms / kMsPerSecond) + " s";
}

std::string quantity_text(double value, const std::string& unit) {
  if (unit == "ms") {
    return time_text(value);
  }
  if (unit == "bytes") {
    return math::format_bytes(value);
  }
  if (unit == "mbps" || unit == "Mb/s") {
    return math::format_rate(value * kBitsPerMegabit);
  }
  for (const UnitSign& each : kSigns) {
    if (each.unit == unit) {
      return number_text(value).append(each.sign);
    }
  }
  return unit.empty() ? number_text(value) : number_text(value) + " " + unit;
}

std::string evidence_text(const Evidence& evidence) {
  return evidence.value ? evidence.what + " " + quantity_text(*evidence.value, evidence.unit)
                        : evidence.what;
}

std::string evidence_text(const std::vector<Evidence>& evidence, std::size_t most) {
  std::string text;
  const std::size_t count = std::min(most, evidence.size());
  for (std::size_t index = 0; index < count; ++index) {
    const Evidence& each = evidence[index];
    text += (index == 0 ? "" : ", ") + evidence_text(each);
    const bool is_last = index + 1 == count || evidence[index + 1].from != each.from;
    text += is_last && !each.from.empty() ? " (" + each.from + ")" : "";
  }
  return text;
}

std::string advice_text(const Advice& advice) {
  if (advice.command.empty() || advice.what.empty()) {
    return advice.what + advice.command;
  }
  return advice.what + ": " + advice.command;
}

std::string with_command(const std::string& text, const std::string& command, int width,
                         int indent) {
  const std::string line = advice_text({.what = text, .command = command});
  const auto room = static_cast<std::size_t>(std::max(width - indent, 0));
  if (command.empty() || cli::width_of(line) <= room) {
    return cli::wrapped(line, width, indent);
  }
  return (text.empty() ? "" : cli::wrapped(text + ":", width, indent)) +
         std::string(static_cast<std::size_t>(indent), ' ') + command + "\n";
}

}  // namespace chokepoint::analysis
