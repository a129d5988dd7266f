#include "tests/lab/wire/settings.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "base/math/units.h"

namespace chokepoint::lab {
namespace {

constexpr double kDefaultQueueSeconds = 0.05;
constexpr std::uint64_t kLeastQueueBytes = 65'536;
constexpr double kLongestRun = 1000;  // frames
constexpr double kLeastSuperFrameRate = 5e8;
constexpr std::uint64_t kLeastSuperFrameQueueBytes = 262'144;

Result<double> parse_between(std::string_view name, std::string_view text, double least,
                             double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    return fail(ErrorKind::Usage, name, text,
                "is no number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

// Stores a parsed value, or passes on why there is none.
template <class Parsed, class Store>
Result<> store(Result<Parsed> parsed, Store store_in) {
  if (!parsed) {
    return fail(std::move(parsed.error()));
  }
  store_in(*parsed);
  return {};
}

Result<> apply_order(Orders& orders, std::string_view name, std::string_view text) {
  if (name == "drop") {
    return store(parse_numbers(text), [&](auto numbers) { orders.drop = std::move(numbers); });
  }
  if (name == "duplicate") {
    return store(parse_numbers(text), [&](auto numbers) { orders.duplicate = std::move(numbers); });
  }
  if (name == "reorder") {
    return store(parse_hold_backs(text), [&](auto found) { orders.reorder = std::move(found); });
  }
  return fail(ErrorKind::Usage, "wire", name, "no such property",
              "it has rate=, delay=, jitter=, loss=, run=, late=, queue=, bucket=, drop=, "
              "duplicate= and reorder=");
}

Result<> apply_chance(DirectionSettings& settings, std::string_view name, std::string_view text) {
  if (name == "loss") {
    return store(parse_between(name, text, 0, 1), [&](double loss) { settings.loss = loss; });
  }
  if (name == "run") {
    return store(parse_between(name, text, 1, kLongestRun),
                 [&](double run) { settings.loss_run = run; });
  }
  if (name == "late") {
    return store(parse_between(name, text, 0, 1), [&](double late) { settings.late = late; });
  }
  return apply_order(settings.orders, name, text);
}

Result<> apply_bytes(DirectionSettings& settings, std::string_view name, std::string_view text) {
  auto& bytes = name == "queue" ? settings.queue_bytes : settings.bucket_bytes;
  return store(math::parse_bytes(text), [&](math::Bytes found) { bytes = found.count; });
}

}  // namespace

std::uint64_t DirectionSettings::queue_limit_bytes() const {
  if (queue_bytes) {
    return *queue_bytes;
  }
  if (!bits_per_second) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  const auto bytes = static_cast<std::uint64_t>(*bits_per_second / 8 * kDefaultQueueSeconds);
  return std::max(bytes, kLeastQueueBytes);
}

Result<> apply_word(DirectionSettings& settings, std::string_view word) {
  const auto equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view text = equals == word.npos ? "" : word.substr(equals + 1);
  if (name == "rate") {
    return store(math::parse_rate(text),
                 [&](math::Rate rate) { settings.bits_per_second = rate.bits_per_second; });
  }
  if (name == "delay" || name == "jitter") {
    auto& time = name == "delay" ? settings.delay : settings.jitter;
    return store(math::parse_duration(text), [&](std::chrono::nanoseconds found) { time = found; });
  }
  if (name == "queue" || name == "bucket") {
    return apply_bytes(settings, name, text);
  }
  return apply_chance(settings, name, text);
}

bool allows_super_frames(const DirectionSettings& settings) {
  return settings.loss == 0 && settings.late == 0 && !settings.bucket_bytes &&
         settings.orders.empty() &&
         settings.bits_per_second.value_or(1e12) >= kLeastSuperFrameRate &&
         settings.queue_limit_bytes() >= kLeastSuperFrameQueueBytes;
}

}  // namespace chokepoint::lab
