#include "analysis/commands/predict_values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "analysis/predict/figures.h"
#include "analysis/predict/upgrade.h"

namespace chokepoint::analysis {

Result<> read_count(std::string_view flag, const std::string& text, double* target, double least,
                    double most) {
  if (text.empty()) return {};
  const Result<double> count = math::parse_count(text);
  if (!count) {
    Error error = count.error();
    error.operation = flag;
    return fail(error);
  }
  if (*count < least || *count > most || *count != std::floor(*count)) {
    return fail(ErrorKind::Usage, flag, text,
                fmt::format("must be a whole number from {} to {}", least, most));
  }
  *target = *count;
  return {};
}

Result<> read_share(std::string_view flag, const std::string& text, double most,
                    std::optional<double>* target) {
  if (text.empty()) return {};
  const bool is_percentage = text.ends_with('%');
  const char* last = text.data() + text.size() - (is_percentage ? 1 : 0);
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), last, share);
  share *= is_percentage ? 0.01 : 1;
  if (error != std::errc() || end != last || !(share >= 0) || share > most) {
    return fail(ErrorKind::Usage, flag, text, "not a share",
                fmt::format("give 0 to {}, or a percentage like 0.1%", most));
  }
  *target = share;
  return {};
}

Result<> read_type(std::string_view flag, const std::string& type, double* bytes) {
  const std::optional<double> found = element_bytes(type);
  if (!found) {
    return fail(ErrorKind::Usage, flag, type, "unknown type",
                "give fp32, bf16, fp16, fp8, int8 or fp64");
  }
  *bytes = *found;
  return {};
}

Result<> read_rtt(const std::string& text, std::optional<double>* rtt_ms) {
  if (text.empty()) return {};
  const Result<std::chrono::nanoseconds> rtt = math::parse_duration(text);
  if (!rtt) {
    Error error = rtt.error();
    error.operation = "--rtt";
    return fail(error);
  }
  *rtt_ms = static_cast<double>(rtt->count()) / 1e6;
  return {};
}

Result<> read_link(const std::string& text, std::optional<double>* rate_mbps) {
  if (text.empty()) return {};
  const Result<math::Rate> rate = parse_link(text);
  if (!rate) {
    Error error = rate.error();
    error.operation = "--link";
    return fail(error);
  }
  *rate_mbps = rate->bits_per_second / 1e6;
  return {};
}

}  // namespace chokepoint::analysis
