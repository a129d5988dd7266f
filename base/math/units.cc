#include "base/math/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "base/sys/number.h"

namespace chokepoint::math {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

constexpr double kKi = 1024;
constexpr double kMi = kKi * kKi;
constexpr double kGi = kMi * kKi;
constexpr double kTi = kGi * kKi;

// Suffixes are matched without regard to case, but for the "b" and "B" of rates.
constexpr std::array kByteUnits{
    Unit{"", 1},      Unit{"b", 1},     Unit{"k", kKi},   Unit{"m", kMi},   Unit{"g", kGi},
    Unit{"t", kTi},   Unit{"ki", kKi},  Unit{"mi", kMi},  Unit{"gi", kGi},  Unit{"ti", kTi},
    Unit{"kib", kKi}, Unit{"mib", kMi}, Unit{"gib", kGi}, Unit{"tib", kTi}, Unit{"kb", 1e3},
    Unit{"mb", 1e6},  Unit{"gb", 1e9},  Unit{"tb", 1e12}};

constexpr std::array kCountUnits{Unit{"", 1},    Unit{"k", 1e3}, Unit{"m", 1e6},
                                 Unit{"b", 1e9}, Unit{"g", 1e9}, Unit{"t", 1e12}};

constexpr std::array kDurationUnits{
    Unit{"", 1e9}, Unit{"s", 1e9},  Unit{"ms", 1e6},   Unit{"us", 1e3},   Unit{"µs", 1e3},
    Unit{"ns", 1}, Unit{"m", 60e9}, Unit{"min", 60e9}, Unit{"h", 3600e9}, Unit{"d", 86400e9}};

constexpr std::array kRatePrefixes{Unit{"", 1},     Unit{"k", 1e3},  Unit{"m", 1e6},
                                   Unit{"g", 1e9},  Unit{"t", 1e12}, Unit{"ki", kKi},
                                   Unit{"mi", kMi}, Unit{"gi", kGi}, Unit{"ti", kTi}};

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return lower;
}

struct Quantity {
  double value;
  std::string_view suffix;
};

Result<Quantity> split(std::string_view text, std::string_view what, std::string_view examples) {
  const auto bad = [&] {
    return fail(ErrorKind::Usage, "", text, fmt::format("not {}", what),
                fmt::format("write it like {}", examples));
  };
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0 || std::signbit(value)) {
    return bad();
  }
  std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (suffix.starts_with(' ')) {
    suffix.remove_prefix(1);
  }
  return Quantity{value, suffix};
}

std::optional<double> factor_of(std::span<const Unit> units, std::string_view suffix) {
  const std::string lower = lowered(suffix);
  for (const Unit& unit : units) {
    if (unit.suffix == lower) {
      return unit.factor;
    }
  }
  return std::nullopt;
}

// The numeral alone may be in range, and its unit carry it out.
Result<double> finite(double value, std::string_view text) {
  if (!std::isfinite(value)) {
    return fail(ErrorKind::Usage, "", text, "too large", "leave out some zeros");
  }
  return value;
}

Result<double> parse(std::string_view text, std::span<const Unit> units, std::string_view what,
                     std::string_view examples) {
  TRY(const Quantity quantity, split(text, what, examples));
  const std::optional<double> factor = factor_of(units, quantity.suffix);
  if (!factor) {
    return fail(ErrorKind::Usage, "", text, fmt::format("unknown unit '{}'", quantity.suffix),
                fmt::format("write it like {}", examples));
  }
  return finite(quantity.value * *factor, text);
}

struct Scale {
  double factor;
  std::string_view name;
};

std::string scaled(double value, std::span<const Scale> scales) {
  // What rounds to 1000 of a unit is 1.00 of the next.
  constexpr double kRoundsUp = 0.9995;
  for (const Scale& scale : scales) {
    if (std::abs(value) >= scale.factor * kRoundsUp) {
      return fmt::format("{} {}", three_digits(value / scale.factor), scale.name);
    }
  }
  return fmt::format("{:.0f} {}", value / scales.back().factor, scales.back().name);
}

// "b", "bit", "bps", "b/s" are bits; "B", "B/s", "Bps" bytes; nothing is bits.
std::optional<double> bits_of(std::string_view unit) {
  if (unit.empty() || unit == "b" || unit == "b/s" || unit == "bps" || unit == "bit" ||
      unit == "bit/s" || unit == "bits") {
    return 1;
  }
  if (unit == "B" || unit == "B/s" || unit == "Bps") {
    return 8;
  }
  return std::nullopt;
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  TRY(const double value, parse(text, kByteUnits, "a size", "65536, 64K or 1.5GB"));
  constexpr double kTooMany = 9.2e18;
  if (value >= kTooMany) {
    return fail(ErrorKind::Usage, "", text, "too large", "give less than 8 EiB");
  }
  return Bytes{static_cast<std::uint64_t>(std::llround(value))};
}

Result<Rate> parse_rate(std::string_view text) {
  constexpr std::string_view kExamples = "10G, 100Mb/s or 25GB/s";
  TRY(const Quantity quantity, split(text, "a rate", kExamples));
  constexpr double kMinBare = 1000;  // a unit was forgotten: no path is that slow
  if (quantity.suffix.empty() && quantity.value > 0 && quantity.value < kMinBare) {
    return fail(ErrorKind::Usage, "", text, fmt::format("is {} bit/s", quantity.value),
                fmt::format("write {0}M or {0}G", quantity.value));
  }
  for (const std::size_t length : {2UL, 1UL, 0UL}) {
    if (length > quantity.suffix.size()) {
      continue;
    }
    const auto prefix = factor_of(kRatePrefixes, quantity.suffix.substr(0, length));
    const auto bits = bits_of(quantity.suffix.substr(length));
    if (prefix && bits) {
      const Result<double> rate = finite(quantity.value * *prefix * *bits, text);
      return rate ? Result<Rate>(Rate{*rate}) : std::unexpected(rate.error());
    }
  }
  return fail(ErrorKind::Usage, "", text, fmt::format("unknown unit '{}'", quantity.suffix),
              fmt::format("write it like {}", kExamples));
}

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  TRY(const double value, parse(text, kDurationUnits, "a duration", "10, 1.5ms or 2h"));
  constexpr double kTooLong = 9.2e18;
  if (value >= kTooLong) {
    return fail(ErrorKind::Usage, "", text, "too long", "give less than 290 years");
  }
  return std::chrono::nanoseconds(std::llround(value));
}

Result<std::chrono::nanoseconds> parse_short_duration(std::string_view text) {
  const bool has_unit = text.find_first_not_of("0123456789.") != std::string_view::npos;
  if (!has_unit && text.find_first_of("123456789") != std::string_view::npos) {
    return fail(ErrorKind::Usage, "", text, "without a unit",
                fmt::format("write {0}ms, {0}us or {0}s", text));
  }
  return parse_duration(text);
}

Result<double> parse_percent(std::string_view text) {
  const std::string_view digits = text.substr(0, text.size() - (text.ends_with('%') ? 1 : 0));
  const auto percent = sys::parse_non_negative<double>(digits);
  return percent ? Result<double>(*percent)
                 : fail(ErrorKind::Usage, "", text, "not a percentage", "write it like 1 or 1%");
}

Result<double> parse_share(std::string_view text) {
  const bool is_percentage = text.ends_with('%');
  const auto share = is_percentage ? std::nullopt : sys::parse_non_negative<double>(text);
  if (share && *share <= 1) {
    return *share;
  }
  const Result<double> percent = parse_percent(text);
  constexpr double kWhole = 100;
  if (!is_percentage || !percent || *percent > kWhole) {
    return fail(ErrorKind::Usage, "", text, "not a share", "write it like 0.001 or 0.1%");
  }
  return *percent / kWhole;
}

Result<double> parse_count(std::string_view text) {
  return parse(text, kCountUnits, "a count", "1000, 708M or 1.5B");
}

std::string three_digits(double value) {
  // As rounded: 9.996 is 10.0.
  constexpr double kWithoutDecimals = 99.95;
  constexpr double kWithOne = 9.995;
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value, size >= kWithoutDecimals ? 0 : size >= kWithOne ? 1 : 2);
}

std::string format_bytes(double bytes) {
  constexpr std::array kBinary{Scale{kTi, "TiB"}, Scale{kGi, "GiB"}, Scale{kMi, "MiB"},
                               Scale{kKi, "KiB"}};
  constexpr double kMaxWhole = 1000;
  for (const Scale& scale : kBinary) {
    const double count = bytes / scale.factor;
    if (count >= 1 && count < kMaxWhole && count == std::floor(count)) {
      return fmt::format("{:.0f} {}", count, scale.name);
    }
  }
  constexpr std::array kScales{Scale{1e12, "TB"}, Scale{1e9, "GB"}, Scale{1e6, "MB"},
                               Scale{1e3, "KB"}, Scale{1, "B"}};
  return bytes == std::floor(bytes) && bytes < kScales[3].factor ? fmt::format("{:.0f} B", bytes)
                                                                 : scaled(bytes, kScales);
}

std::string format_rate(double bits_per_second) {
  constexpr std::array kScales{Scale{1e12, "Tb/s"}, Scale{1e9, "Gb/s"}, Scale{1e6, "Mb/s"},
                               Scale{1e3, "kb/s"}, Scale{1, "b/s"}};
  return scaled(bits_per_second, kScales);
}

std::string format_duration(std::chrono::nanoseconds duration) {
  constexpr std::array kScales{Scale{3600e9, "h"}, Scale{60e9, "min"}, Scale{1e9, "s"},
                               Scale{1e6, "ms"},   Scale{1e3, "µs"},   Scale{1, "ns"}};
  return scaled(static_cast<double>(duration.count()), kScales);
}

std::string format_ms(double ms) {
  if (ms == 0) {
    return "0 ms";
  }
  constexpr double kMaxNs = 9e18;  // a document that is read may hold more
  const double ns = std::clamp(ms * kNsPerMs, -kMaxNs, kMaxNs);
  return format_duration(std::chrono::nanoseconds(std::isnan(ns) ? 0 : std::llround(ns)));
}

}  // namespace chokepoint::math
