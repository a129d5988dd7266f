#include "tests/lab/wire/settings.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/math/units.h"

namespace chokepoint::lab {
namespace {

constexpr double kDefaultQueueSeconds = 0.05;
constexpr std::uint64_t kLeastQueueBytes = 65'536;
constexpr double kLeastSuperFrameRate = 5e8;
constexpr std::uint64_t kLeastSuperFrameQueueBytes = 262'144;

Result<double> parse_probability(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value > 1) {
    return fail(ErrorKind::Usage, "loss", text, "is no probability from 0 to 1");
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
              "it has rate=, delay=, loss=, queue=, drop=, duplicate= and reorder=");
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
  if (name == "delay") {
    return store(math::parse_duration(text),
                 [&](std::chrono::nanoseconds delay) { settings.delay = delay; });
  }
  if (name == "loss") {
    return store(parse_probability(text), [&](double loss) { settings.loss = loss; });
  }
  if (name == "queue") {
    return store(math::parse_bytes(text),
                 [&](math::Bytes bytes) { settings.queue_bytes = bytes.count; });
  }
  return apply_order(settings.orders, name, text);
}

bool allows_super_frames(const DirectionSettings& settings) {
  return settings.loss == 0 && settings.orders.empty() &&
         settings.bits_per_second.value_or(1e12) >= kLeastSuperFrameRate &&
         settings.queue_limit_bytes() >= kLeastSuperFrameQueueBytes;
}

}  // namespace chokepoint::lab
