#include "probe/latency/rpm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/math/statistics.h"
#include "base/net/headers.h"

namespace chokepoint::probe::latency {
namespace {

constexpr double kMsInAMinute = 60'000;
constexpr double kNinety = 0.9;

// As counted in a capture, Ethernet's header included: a foreign probe puts 779 bytes on the wire
// towards the peer and 499 back, a self probe at most 218 with what acknowledges it. All of it is
// held against what one direction carries.
constexpr double kPairBits = 8 * net::kEthernetMtu;

struct Rating {
  double below_rpm;
  std::string_view name;
};
constexpr std::array kRatings{Rating{300, "poor"}, Rating{1000, "fair"}, Rating{6000, "good"}};

template <class T>
std::vector<double> column(const std::vector<T>& rows, double T::* of) {
  std::vector<double> values;
  values.reserve(rows.size());
  for (const T& row : rows) {
    values.push_back(row.*of);
  }
  return values;
}

std::vector<double> path_times(const std::vector<SelfTime>& rows) {
  std::vector<double> values;
  for (const SelfTime& row : rows) {
    if (row.path_ms) {
      values.push_back(*row.path_ms);
    }
  }
  return values;
}

std::optional<double> per_minute(double ms) {
  return ms > 0 ? std::optional(kMsInAMinute / ms) : std::nullopt;
}

void keep_last(std::deque<double>& values, double value) {
  values.push_back(value);
  if (values.size() > kMovingAverage) {
    values.pop_front();
  }
}

double mean_of(const std::deque<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::optional<double> trimmed_mean(std::vector<double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(values);
  const auto kept = std::ceil(static_cast<double>(values.size()) * kTrimmedShare);
  return math::mean(std::span(values).first(static_cast<std::size_t>(kept)));
}

Responsiveness responsiveness_of(const ProbeTimes& times) {
  Responsiveness result{
      .tcp_ms = trimmed_mean(column(times.foreign, &ForeignTime::tcp_ms)),
      .handshake_ms = trimmed_mean(column(times.foreign, &ForeignTime::handshake_ms)),
      .request_ms = trimmed_mean(column(times.foreign, &ForeignTime::request_ms)),
      .self_ms = trimmed_mean(column(times.self, &SelfTime::took_ms)),
      .self_path_ms = trimmed_mean(path_times(times.self)),
      .foreign_probes = times.foreign.size(),
      .self_probes = times.self.size()};
  if (result.tcp_ms && result.handshake_ms && result.request_ms) {
    result.foreign_rpm =
        per_minute((*result.tcp_ms + *result.handshake_ms + *result.request_ms) / 3);
  }
  if (result.self_ms) {
    result.self_rpm = per_minute(*result.self_ms);
  }
  if (result.foreign_rpm && result.self_rpm) {
    result.rpm = (*result.foreign_rpm + *result.self_rpm) / 2;
  }
  if (result.self_ms && result.self_path_ms) {
    result.self_buffer_ms = std::max(*result.self_ms - *result.self_path_ms, 0.0);
  }
  return result;
}

std::optional<double> path_p90_ms(const ProbeTimes& times) {
  return math::quantile(path_times(times.self), kNinety);
}

std::string_view rating_of(double rpm) {
  const auto* const rating =
      std::ranges::find_if(kRatings, [&](const Rating& each) { return rpm < each.below_rpm; });
  return rating == kRatings.end() ? "excellent" : rating->name;
}

void Saturation::add(double value) { keep_last(values_, value); }

Confidence Saturation::confidence() const {
  if (values_.size() < kMovingAverage) {
    return Confidence::Low;
  }
  const double middle = mean_of(values_);
  double squares = 0;
  for (const double value : values_) {
    squares += (value - middle) * (value - middle);
  }
  const double deviation = std::sqrt(squares / static_cast<double>(values_.size()));
  const double newest = values_.back();
  return newest > 0 && deviation <= kTolerance * newest ? Confidence::High : Confidence::Medium;
}

std::optional<double> MovingAverage::add(double value) {
  keep_last(values_, value);
  return values_.size() == kMovingAverage ? std::optional(mean_of(values_)) : std::nullopt;
}

double probes_per_second(double bits_per_s) {
  return std::clamp(bits_per_s * kCapacityShare / kPairBits, 0.0, kMaxProbesPerSecond);
}

}  // namespace chokepoint::probe::latency
