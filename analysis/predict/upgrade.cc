#include <cmath>

#include "analysis/predict/predict.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

constexpr std::string_view kUpgradeExample =
    "write it like 5GbE=41000, switch:10G=60000 or 2x10GbE=60000";

Result<double> parse_cost(std::string_view text, std::string_view whole) {
  const std::optional<double> cost = sys::parse_non_negative<double>(text);
  if (!cost || !std::isfinite(*cost)) {
    return fail(ErrorKind::Usage, "--upgrade", whole, "what it costs is not a number",
                kUpgradeExample);
  }
  return *cost;
}

// The number in front of "x", which is taken off the link.
std::optional<double> take_nics(std::string_view& link) {
  const std::size_t times = link.find('x');
  const auto nics = times == std::string_view::npos
                        ? std::nullopt
                        : sys::parse_number<std::int64_t>(link.substr(0, times));
  const double count = nics ? static_cast<double>(*nics) : 0;
  if (count < 1 || count > kMostNics) return std::nullopt;
  link.remove_prefix(times + 1);
  return count;
}

}  // namespace

Result<math::Rate> parse_link(std::string_view text) {
  const bool is_ethernet = text.ends_with("bE") || text.ends_with("be");
  const Result<math::Rate> rate =
      math::parse_rate(is_ethernet ? text.substr(0, text.size() - 1) : text);
  if (!rate) {
    return rate;
  }
  if (rate->bits_per_second <= 0) {
    return fail(ErrorKind::Usage, "", text, "a link that carries nothing", "write it like 10G");
  }
  return rate;
}

Result<Upgrade> parse_upgrade(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) {
    return fail(ErrorKind::Usage, "--upgrade", text, "says no cost", kUpgradeExample);
  }
  TRY(const double cost, parse_cost(text.substr(equals + 1), text));
  const std::string_view head = text.substr(0, equals);
  const std::size_t colon = head.rfind(':');
  const std::string_view name = head.substr(0, colon);
  std::string_view link = colon == std::string_view::npos ? head : head.substr(colon + 1);
  const std::optional<double> nics = take_nics(link);
  const Result<math::Rate> rate = parse_link(link);
  if (!rate) {
    return fail(ErrorKind::Usage, "--upgrade", text, "names no rate", kUpgradeExample);
  }
  return Upgrade{.name = std::string(name), .rate = *rate, .nics = nics, .cost = cost};
}

Gain gain_of(const Upgrade& upgrade, double now_s, double then_s, double runs,
             std::optional<double> hour_price) {
  constexpr double kHour = 3600;
  Gain gain{.saved_s = now_s - then_s};
  if (gain.saved_s > 0) {
    gain.cost_of_hour = upgrade.cost / (gain.saved_s * runs / kHour);
    if (hour_price && *hour_price > 0) {
      gain.paid_back_after = upgrade.cost / (gain.saved_s / kHour * *hour_price);
    }
  }
  return gain;
}

}  // namespace chokepoint::analysis
