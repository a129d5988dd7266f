#include "tests/bench/history/made_series.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::bench {

double SeriesChance::uniform(double low, double high) {
  constexpr int kUnused = 11;
  return low + (high - low) * std::ldexp(static_cast<double>(bits_() >> kUnused), -53);
}

double SeriesChance::log_uniform(double low, double high) {
  return std::exp(uniform(std::log(low), std::log(high)));
}

double SeriesChance::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(0, 1)));
  return radius * std::cos(2 * std::numbers::pi * uniform(0, 1));
}

double SeriesChance::student3() {
  const double value = normal();
  double squares = 0;
  for (int i = 0; i < 3; ++i) {
    const double part = normal();
    squares += part * part;
  }
  return value / std::sqrt(squares);  // Student's over √3, which is its deviation
}

namespace {

constexpr double kHourNs = 3600e9;
constexpr double kDayHours = 24;

enum class Tail { Normal, Student, Skewed };

// What a series is drawn by.
struct Nature {
  double level = 1;
  double noise = 0.01;
  Tail tail = Tail::Normal;
  double correlation = 0;  // of neighbours
  double wander = 0;       // deviation of a second part that takes a day to return
  double outliers = 0;     // their share
  double rhythm = 0;
  bool has_working_hours = false;
  double phase_hours = 0;
  double drift = 0;  // relative, in 720 points
  double step_hours = 1;
  bool is_irregular = false;
  double dropped = 0;  // share of the points that are missing
  double outage_hours = 0;
};

Nature drawn_nature(SeriesChance& chance, bool is_hourly) {
  Nature nature{.level = chance.log_uniform(1e-3, 1e6), .noise = chance.log_uniform(0.005, 0.05)};
  const double tail = chance.uniform(0, 6);
  nature.tail = tail < 2 ? Tail::Student : tail < 3 ? Tail::Skewed : Tail::Normal;
  nature.correlation = chance.is_one_in(2) ? chance.uniform(0, 0.6) : 0;
  nature.wander = chance.is_one_in(4) ? chance.uniform(0.2, 0.6) * nature.noise : 0;
  nature.outliers = chance.is_one_in(2) ? chance.uniform(0.002, 0.02) : 0;
  nature.rhythm = chance.is_one_in(2) ? chance.log_uniform(0.002, 0.05) : 0;
  nature.has_working_hours = chance.is_one_in(2);
  nature.phase_hours = chance.uniform(0, kDayHours);
  nature.drift = chance.is_one_in(2) ? chance.uniform(-0.06, 0.06) : 0;
  const double distance = chance.uniform(0, 5);
  const bool has_gaps = chance.is_one_in(2);
  const double dropped = chance.uniform(0.02, 0.4);
  const double outage = chance.is_one_in(2) ? chance.log_uniform(4, 100) : 0;
  if (!is_hourly) {
    nature.step_hours = distance < 3 ? 1 : distance < 4 ? 1.0 / 6 : kDayHours;
    nature.is_irregular = distance > 2;
    nature.dropped = has_gaps ? dropped : 0;
    nature.outage_hours = has_gaps ? outage : 0;
  }
  return nature;
}

// -1 to 1, and 0 on average: a sine, or working hours with two hours at each end.
double rhythm_at(const Nature& nature, double hours) {
  const double hour = std::fmod(hours + nature.phase_hours, kDayHours);
  if (!nature.has_working_hours) {
    return std::sin(2 * std::numbers::pi * hour / kDayHours);
  }
  const double edge = std::min(hour, 12 - hour);  // working from 0 to 12
  return std::clamp(edge, -1.0, 1.0);
}

double noise_of(SeriesChance& chance, Tail tail) {
  constexpr double kSkew = 0.6;  // of the logarithm
  switch (tail) {
    case Tail::Student:
      return chance.student3();
    case Tail::Skewed: {
      const double mean = std::exp(kSkew * kSkew / 2);
      return (std::exp(kSkew * chance.normal()) - mean) / mean /
             std::sqrt(std::exp(kSkew * kSkew) - 1);
    }
    case Tail::Normal:
      break;
  }
  return chance.normal();
}

std::vector<double> drawn_hours(SeriesChance& chance, const Nature& nature, std::size_t count) {
  std::vector<double> hours;
  double at = 0;
  const double outage_at = chance.uniform(0, static_cast<double>(count));
  bool had_outage = nature.outage_hours <= 0;
  while (hours.size() < count) {
    const double step = nature.is_irregular ? -std::log(1 - chance.uniform(0, 1)) : 1;
    at += nature.step_hours * step;
    if (!had_outage && static_cast<double>(hours.size()) >= outage_at) {
      at += nature.outage_hours;
      had_outage = true;
    }
    if (nature.dropped <= 0 || chance.uniform(0, 1) >= nature.dropped) {
      hours.push_back(at);
    }
  }
  return hours;
}

}  // namespace

MadeSeries made_series(SeriesChance& chance, const SeriesWish& wish) {
  constexpr double kDayCorrelation = 0.95;  // of the part that wanders, from point to point
  constexpr double kMonthPoints = 720;
  const Nature nature = drawn_nature(chance, wish.is_hourly);
  MadeSeries series;
  series.noise = nature.noise;
  series.rhythm = nature.rhythm;
  const double place = chance.uniform(0.2, 0.8);
  const double size = chance.log_uniform(0.02, 0.5);
  const bool is_rise = !chance.is_one_in(3);
  if (wish.has_change) {
    const auto count = static_cast<double>(wish.points);
    series.change_at = static_cast<std::size_t>(std::clamp(place * count, 5.0, count - 5));
    series.change = is_rise ? size : -size / (1 + size);
  }
  const std::vector<double> hours = drawn_hours(chance, nature, wish.points);
  double near = noise_of(chance, nature.tail);
  double far = chance.normal();
  for (std::size_t i = 0; i < hours.size(); ++i) {
    const double rho = nature.correlation;
    near = rho * near + std::sqrt(1 - rho * rho) * noise_of(chance, nature.tail);
    far =
        kDayCorrelation * far + std::sqrt(1 - kDayCorrelation * kDayCorrelation) * chance.normal();
    double value = 1 + nature.noise * near + nature.wander * far +
                   nature.rhythm * rhythm_at(nature, hours[i]) +
                   nature.drift * static_cast<double>(i) / kMonthPoints;
    value = std::max(value, 0.05);
    if (nature.outliers > 0 && chance.uniform(0, 1) < nature.outliers) {
      value *= chance.log_uniform(1.1, 4);
    }
    if (series.change_at && i >= *series.change_at) {
      value *= 1 + series.change;
    }
    series.points.push_back(
        {.t_ns = static_cast<std::int64_t>(hours[i] * kHourNs), .value = nature.level * value});
  }
  return series;
}

}  // namespace chokepoint::bench
