#include "capture/live/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace chokepoint::capture::live {
namespace {

constexpr double kMbpsPerGbps = 1e3;
constexpr double kInMs = 1e4;    // longer steps are told in seconds
constexpr double kInMbps = 1e4;  // faster ones in Gb/s
constexpr double kWhole = 100;   // from there on no decimals
constexpr double kTenths = 10;

std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value >= kWhole ? 0 : value >= kTenths ? 1 : 2);
}

}  // namespace

std::string_view name_of(record::StepSource source) {
  switch (source) {
    case record::StepSource::Marks:
      return "marks";
    case record::StepSource::Output:
      return "output";
    case record::StepSource::Collectives:
      return "collectives";
    case record::StepSource::Traffic:
      return "traffic";
  }
  return "unknown";
}

std::string step_text(double ms) {
  return ms < kInMs ? three_digits(ms) + " ms" : three_digits(ms / kMsPerSecond) + " s";
}

std::string clock_text(double seconds) {
  constexpr std::int64_t kMinute = 60;
  const auto whole = static_cast<std::int64_t>(std::max(seconds, 0.0));
  const std::int64_t minutes = whole / kMinute;
  return minutes < kMinute
             ? fmt::format("{:02}:{:02}", minutes, whole % kMinute)
             : fmt::format("{}:{:02}:{:02}", minutes / kMinute, minutes % kMinute, whole % kMinute);
}

std::string grouped(std::uint64_t number) {
  constexpr std::size_t kGroup = 3;
  std::string digits = fmt::format("{}", number);
  for (std::size_t end = digits.size(); end > kGroup;) {
    end -= kGroup;
    digits.insert(end, ",");
  }
  return digits;
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  constexpr double kLeast = 0.01;
  const double percent =
      whole == 0 ? 0 : kPercent * static_cast<double>(part) / static_cast<double>(whole);
  if (part == 0 || whole == 0) {
    return "0 %";
  }
  return percent < kLeast ? "<0.01 %" : fmt::format("{:.2f} %", percent);
}

std::string rates_text(double sent_mbps, double received_mbps) {
  const bool is_fast = std::max(sent_mbps, received_mbps) >= kInMbps;
  const double scale = is_fast ? kMbpsPerGbps : 1;
  return fmt::format("out {} in {} {}", three_digits(sent_mbps / scale),
                     three_digits(received_mbps / scale), is_fast ? "Gb/s" : "Mb/s");
}

}  // namespace chokepoint::capture::live
