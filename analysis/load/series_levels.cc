// Reading counters and gauges between their rows; docs/run-counters.md has the rules.
#include <algorithm>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {
namespace {

using Readings = std::vector<Reading>;

double value_at(const Readings& readings, std::int64_t t_ns) {
  const auto next = std::ranges::lower_bound(readings, t_ns, {}, &Reading::t_ns);
  if (next == readings.begin()) {
    return next->value;
  }
  const Reading& before = *std::prev(next);
  if (next == readings.end()) {
    return before.value;
  }
  const double part =
      static_cast<double>(t_ns - before.t_ns) / static_cast<double>(next->t_ns - before.t_ns);
  return before.value + part * (next->value - before.value);
}

// What one reading of a gauge says of a span: its mean and the most, over a part of it.
struct Piece {
  Span span = {};
  double value = 0;
  double peak = 0;
};

// A level holds until the next reading; a share stands for its own span alone.
bool is_level(const Readings& readings) {
  return std::ranges::any_of(readings, [](const Reading& reading) { return reading.bin_ns == 0; });
}

template <class F>
void each_piece(const SeriesData& series, Span span, F&& visit) {
  const Readings& readings = series.readings;
  const bool holds = is_level(readings);
  const auto first = std::ranges::lower_bound(readings, span.start_ns, {}, &Reading::t_ns);
  // A level from before the span may hold into it.
  auto reading = holds && first != readings.begin() ? std::prev(first) : first;
  for (; reading != readings.end() && reading->t_ns - reading->bin_ns <= span.end_ns; ++reading) {
    const auto next = std::next(reading);
    const std::int64_t until = !holds                   ? reading->t_ns
                               : next == readings.end() ? std::max(span.end_ns, reading->t_ns)
                                                        : next->t_ns - next->bin_ns;
    const Span part{std::max(span.start_ns, reading->t_ns - reading->bin_ns),
                    std::min(span.end_ns, until)};
    if (part.start_ns <= part.end_ns) {
      visit(Piece{part, reading->value, std::max(reading->value, reading->peak)});
    }
  }
}

}  // namespace

std::optional<double> growth(const SeriesData& series, Span span) {
  if (series.readings.empty()) {
    return std::nullopt;
  }
  return value_at(series.readings, span.end_ns) - value_at(series.readings, span.start_ns);
}

std::optional<double> mean_level(const SeriesData& series, Span span) {
  double weighed = 0;
  double length = 0;
  std::optional<double> last;  // where the span or its pieces have no length
  each_piece(series, span, [&](const Piece& piece) {
    const auto weight = static_cast<double>(piece.span.length_ns());
    weighed += weight * piece.value;
    length += weight;
    last = piece.value;
  });
  return length > 0 ? std::optional(weighed / length) : last;
}

std::optional<double> most_level(const SeriesData& series, Span span) {
  std::optional<double> most;
  std::optional<double> touching;  // of pieces that only share a border with the span
  each_piece(series, span, [&](const Piece& piece) {
    std::optional<double>& sum = piece.span.length_ns() > 0 ? most : touching;
    sum = sum ? std::max(*sum, piece.peak) : piece.peak;
  });
  return most ? most : touching;
}

}  // namespace chokepoint::analysis
